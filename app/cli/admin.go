package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/pulsecast/pulsecast/app/config"
)

type admins struct {
	Create   adminCreate   `cmd:"" help:"Make an admin; the password is asked for, taken from ADMIN_PASSWORD, or made up with --generate."`
	Password adminPassword `cmd:"" help:"Give an admin a new password, as create does, and sign them out everywhere."`
	List     adminList     `cmd:"" help:"List the admins."`
	Remove   adminRemove   `cmd:"" help:"Remove an admin and sign them out everywhere."`
}

type adminNamed struct {
	config.Config
	Name string `arg:"" help:"Name to sign in with."`
}

// adminSecret is an admin and where the password comes from.
type adminSecret struct {
	adminNamed
	Generate bool `help:"Make up a password and print it, once; ADMIN_PASSWORD is not looked at."`
}

type (
	adminCreate   struct{ adminSecret }
	adminPassword struct{ adminSecret }
	adminRemove   struct{ adminNamed }
	adminList     struct{ config.Config }
)

func (a *adminCreate) Run(ctx context.Context) error {
	return a.withPassword(ctx, AdminCreate)
}

func (a *adminPassword) Run(ctx context.Context) error {
	return a.withPassword(ctx, AdminSetPassword)
}

func (a *adminRemove) Run(ctx context.Context) error {
	return AdminRemove(ctx, a.Config, a.Name, os.Stdout)
}

func (a *adminList) Run(ctx context.Context) error { return AdminList(ctx, a.Config, os.Stdout) }

// withPassword runs a command with the password, and prints one that was made up once
// the command has kept it.
func (a *adminSecret) withPassword(ctx context.Context, run func(ctx context.Context, cfg config.Config, name, password string, out io.Writer) error) error {
	if !a.Generate {
		password, err := askPassword(ctx)
		if err != nil {
			return err
		}
		return run(ctx, a.Config, a.Name, password, os.Stdout)
	}
	password := NewAdminPassword()
	if err := run(ctx, a.Config, a.Name, password, os.Stdout); err != nil {
		return err
	}
	_, err := fmt.Printf("password %s\nIt is shown only here; keep it safe.\n", password)
	return err
}

// askPassword takes ADMIN_PASSWORD, or asks twice on a terminal and once where there
// is none. It is not a flag: other users can read the arguments of a process.
func askPassword(ctx context.Context) (string, error) {
	if password, ok := os.LookupEnv("ADMIN_PASSWORD"); ok {
		return password, nil
	}
	in := bufio.NewReader(os.Stdin)
	if stty("-echo") != nil {
		return readLine(in)
	}
	defer stty("echo") // also when ctx ends at Ctrl-C
	type typed struct {
		password string
		err      error
	}
	answer := make(chan typed, 1)
	go func() {
		password, err := askTwice(in)
		answer <- typed{password, err}
	}()
	select {
	case a := <-answer:
		return a.password, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func askTwice(in *bufio.Reader) (string, error) {
	fmt.Fprint(os.Stderr, "Password (at least 12 characters): ")
	password, err := readLine(in)
	if err != nil {
		return "", err
	}
	fmt.Fprint(os.Stderr, "\nThe same again: ")
	again, err := readLine(in)
	fmt.Fprintln(os.Stderr)
	if err == nil && again != password {
		err = errors.New("the two passwords differ; nothing was changed")
	}
	return password, err
}

func readLine(in *bufio.Reader) (string, error) {
	line, err := in.ReadString('\n')
	if err != nil && (!errors.Is(err, io.EOF) || line == "") {
		return "", errors.New("no password was given: type it, set ADMIN_PASSWORD, or add --generate")
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// stty sets the terminal of the standard input; it fails when there is none.
func stty(mode string) error {
	cmd := exec.Command("stty", mode)
	cmd.Stdin = os.Stdin
	return cmd.Run()
}
