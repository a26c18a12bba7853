package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// askPassword returns ADMIN_PASSWORD if it is set. Otherwise it asks twice on a terminal. Without a terminal it
// reads one line of the standard input. The password is not a flag, because other users can read the arguments
// of a process.
func askPassword(ctx context.Context) (string, error) {
	if password, ok := os.LookupEnv("ADMIN_PASSWORD"); ok {
		return password, nil
	}
	if !onTerminal() {
		return readLine(os.Stdin)
	}
	shown, err := term.GetState(stdin())
	if err != nil {
		return "", fmt.Errorf("read the state of the terminal: %w", err)
	}
	type typed struct {
		password string
		err      error
	}
	answer := make(chan typed, 1)
	go func() {
		password, err := askTwice()
		answer <- typed{password, err}
	}()
	select {
	case a := <-answer:
		return a.password, a.err
	case <-ctx.Done(): // at Ctrl-C, while the terminal doesn't show what is typed
		return "", errors.Join(ctx.Err(), term.Restore(stdin(), shown))
	}
}

func askTwice() (string, error) {
	password, err := readHidden("Password (at least 12 characters): ")
	if err != nil {
		return "", err
	}
	again, err := readHidden("Repeat the password: ")
	if err == nil && again != password {
		err = errors.New("the two passwords differ; nothing was changed")
	}
	return password, err
}

// readHidden reads a line that the terminal doesn't show.
func readHidden(question string) (string, error) {
	fmt.Fprint(os.Stderr, question)
	line, err := term.ReadPassword(stdin())
	fmt.Fprintln(os.Stderr)
	if err != nil {
		return "", errNoPassword
	}
	return string(line), nil
}

var errNoPassword = errors.New("no password was given: type it, set ADMIN_PASSWORD, or add --generate")

func readLine(in io.Reader) (string, error) {
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && (!errors.Is(err, io.EOF) || line == "") {
		return "", errNoPassword
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// stdin returns the descriptor of the standard input.
func stdin() int { return int(os.Stdin.Fd()) }

// onTerminal reports whether the standard input is a terminal.
func onTerminal() bool { return term.IsTerminal(stdin()) }
