package remote

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/pulsecast/pulsecast/app/client"
)

// The exit codes of the commands. Scripts rely on them, so they never change their meaning.
const (
	ExitOK            = 0
	ExitFailed        = 1 // any other failure, such as a file that can't be written
	ExitUsage         = 2 // the command line is wrong; nothing was sent
	ExitRefused       = 3 // the service refused the request; sending it again doesn't help
	ExitNotAuthorised = 4 // the key is missing, wrong or not allowed to do this
	ExitRateLimited   = 5 // too many requests, even after waiting
	ExitUnavailable   = 6 // the service failed or can't be reached, even after trying again, or another one answered
)

// ExitCodes explains the exit codes in the help.
const ExitCodes = "Exit codes: 0 done, 1 failed, 2 wrong command line, 3 refused by the service, " +
	"4 not authorised, 5 rate limited, 6 unavailable."

// ExitCode returns the exit code of an error.
func ExitCode(err error) int {
	if err == nil {
		return ExitOK
	}
	if _, wrong := errors.AsType[*usageError](err); wrong {
		return ExitUsage
	}
	if _, missing := errors.AsType[*notAuthorised](err); missing {
		return ExitNotAuthorised
	}
	if _, silent := errors.AsType[*client.Unreachable](err); silent {
		return ExitUnavailable
	}
	if refusal, refused := errors.AsType[*client.Refusal](err); refused {
		return exitCodeOf(refusal.Status)
	}
	if _, partly := errors.AsType[*itemsRefused](err); partly {
		return ExitRefused
	}
	return ExitFailed
}

func exitCodeOf(status int) int {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return ExitNotAuthorised
	case status == http.StatusTooManyRequests:
		return ExitRateLimited
	case status >= http.StatusInternalServerError:
		return ExitUnavailable
	}
	return ExitRefused
}

// usageError is the error of a command line that can't be carried out.
type usageError struct{ message string }

func (u *usageError) Error() string { return u.message }

// Usage returns err as an error of the command line; see ExitUsage.
func Usage(err error) error { return usage("%v", err) }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// notAuthorised is the error of a command that needs a key and finds none.
type notAuthorised struct{ message string }

func (n *notAuthorised) Error() string { return n.message }

// itemsRefused is the error of a batch that was partly refused.
type itemsRefused struct{ refused, all int }

func (i *itemsRefused) Error() string {
	return fmt.Sprintf("%d of %d predictions were refused", i.refused, i.all)
}

func refusalBody(err error) []byte {
	if refusal, refused := errors.AsType[*client.Refusal](err); refused {
		return refusal.Body
	}
	return nil
}
