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
)

// askPassword returns ADMIN_PASSWORD if it is set. Otherwise it asks twice on a terminal. Without a terminal it
// reads one line of the standard input. The password is not a flag, because other users can read the arguments
// of a process.
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
	fmt.Fprint(os.Stderr, "\nRepeat the password: ")
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

// onTerminal reports whether the standard input is a terminal.
func onTerminal() bool { return stty("-g") == nil }

// stty sets the terminal of the standard input. It fails if the input is no terminal.
func stty(mode string) error {
	cmd := exec.Command("stty", mode)
	cmd.Stdin = os.Stdin
	return cmd.Run()
}
