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
	// readHidden reads a line that the terminal doesn't show. It is nil if the input isn't a terminal.
	readHidden func(ctx context.Context) (string, error)
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
		t.readHidden = readHidden
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

// AskSecret asks for a line that the terminal doesn't show, and returns it without its end. If the input isn't a
// terminal, it reads a line without asking. At the end of the input it returns "".
func (t *Terminal) AskSecret(ctx context.Context, question string) (line string, err error) {
	if t.readHidden == nil {
		line, err = t.readLine(ctx)
	} else {
		fmt.Fprint(t.Err, question)
		line, err = t.readHidden(ctx)
		fmt.Fprintln(t.Err)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}

// readHidden reads a line that the terminal of the process doesn't show. If ctx ends first, it makes the terminal show
// again what is typed.
func readHidden(ctx context.Context) (string, error) {
	stdin := int(os.Stdin.Fd())
	shown, err := term.GetState(stdin)
	if err != nil {
		return "", fmt.Errorf("read the state of the terminal: %w", err)
	}
	line, err := typed(ctx, func() (string, error) {
		line, err := term.ReadPassword(stdin)
		return string(line), err
	})
	if errors.Is(err, errInterrupted) {
		err = errors.Join(err, term.Restore(stdin, shown))
	}
	return line, err
}

// readLine reads a line of the input.
func (t *Terminal) readLine(ctx context.Context) (string, error) {
	return typed(ctx, func() (string, error) { return bufio.NewReader(t.In).ReadString('\n') })
}

// typed returns the line that read returns, or errInterrupted if ctx ends first.
func typed(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		line string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		line, err := read()
		done <- result{line, err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
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
