package remote

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

// keyVariable names the environment variable that replaces the stored key.
const keyVariable = "PULSECAST_API_KEY"

// Terminal is the input and output of a command.
type Terminal struct {
	In       io.Reader
	Out, Err io.Writer
	// Asks reports whether a person can answer a question: standard input and standard error are a
	// terminal.
	Asks bool
	// Width is the width of the terminal behind Out, or 0 if Out is no terminal.
	Width int
	// Getenv reads the environment.
	Getenv func(name string) string
	// ConfigDir is the folder for the user's settings of all programs.
	ConfigDir func() (string, error)
	// ReadSecret reads a line without showing it. It is nil if there is no terminal.
	ReadSecret func() (string, error)
}

// Standard returns the terminal of the process.
func Standard() *Terminal {
	t := &Terminal{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, ConfigDir: os.UserConfigDir,
		Asks: isTerminal(os.Stdin) && isTerminal(os.Stderr),
	}
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		t.Width = width
	}
	if isTerminal(os.Stdin) {
		t.ReadSecret = func() (string, error) {
			typed, err := term.ReadPassword(int(os.Stdin.Fd()))
			return string(typed), err
		}
	}
	return t
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func (t *Terminal) keyOfEnvironment() string { return strings.TrimSpace(t.Getenv(keyVariable)) }

// confirm asks a person a yes-or-no question. No answer counts as no.
func (t *Terminal) confirm(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(t.Err, question+" [y/N] ")
	line, err := t.readLine(ctx)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}

// readSecret asks for a line that the terminal doesn't show. If there is no terminal, it reads a line of
// the input.
func (t *Terminal) readSecret(ctx context.Context, question string) (string, error) {
	if t.ReadSecret == nil {
		return t.readLine(ctx)
	}
	fmt.Fprint(t.Err, question)
	line, err := t.ReadSecret()
	fmt.Fprintln(t.Err)
	return line, err
}

// readLine reads a line. It returns early if ctx ends.
func (t *Terminal) readLine(ctx context.Context) (string, error) {
	type typed struct {
		line string
		err  error
	}
	answer := make(chan typed, 1)
	go func() {
		line, err := bufio.NewReader(t.In).ReadString('\n')
		answer <- typed{line, err}
	}()
	select {
	case a := <-answer:
		return a.line, a.err
	case <-ctx.Done():
		return "", errInterrupted
	}
}

// errNotConfirmed means that the person answered no.
var errNotConfirmed = errors.New("nothing was published")

// The person interrupted the command: before it did anything, or before the whole answer came. These errors
// aren't context.Canceled, which means success for a command that runs until it is stopped.
var (
	errInterrupted = errors.New("interrupted; nothing was done")
	errCutShort    = errors.New("interrupted before the whole answer came")
)
