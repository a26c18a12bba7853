package cli

import (
	"context"
	"errors"
	"os"

	"golang.org/x/term"

	"github.com/pulsecast/pulsecast/app/cli/remote"
)

// askPassword returns ADMIN_PASSWORD if it is set. Otherwise it asks twice on a terminal. Without a terminal it
// reads one line of the standard input. The password is not a flag, because other users can read the arguments
// of a process.
func askPassword(ctx context.Context, t *remote.Terminal) (string, error) {
	if password, ok := os.LookupEnv("ADMIN_PASSWORD"); ok {
		return password, nil
	}
	password, err := t.AskSecret(ctx, "Password (at least 12 characters): ")
	if err == nil && password == "" {
		err = errors.New("no password was given: type it, set ADMIN_PASSWORD, or add --generate")
	}
	if err != nil || !onTerminal() {
		return password, err
	}
	again, err := t.AskSecret(ctx, "Repeat the password: ")
	if err == nil && again != password {
		err = errors.New("the two passwords differ; nothing was changed")
	}
	return password, err
}

// onTerminal reports whether the standard input is a terminal.
func onTerminal() bool { return term.IsTerminal(int(os.Stdin.Fd())) }
