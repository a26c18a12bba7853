package oauth

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/ory/fosite"

	"github.com/pulsecast/pulsecast/app/agent"
)

// Error is a refusal for a client in the form of RFC 6749 (section 5.2) and RFC 7591 (section 3.2.2).
type Error struct {
	Code        string // "invalid_grant"
	Description string // a sentence for the client's author
	Status      int
	Cause       error // for the log; may be nil
}

func (e *Error) Error() string { return e.Code + ": " + e.Description }

func (e *Error) Unwrap() error { return e.Cause }

func refuse(code, description string, args ...any) *Error {
	return &Error{Code: code, Description: fmt.Sprintf(description, args...), Status: http.StatusBadRequest}
}

// unavailable returns the refusal that a client gets if the service itself failed.
func unavailable(cause error) *Error {
	return &Error{
		Code: "temporarily_unavailable", Description: "This can't be answered right now. Try again in a moment.",
		Status: http.StatusServiceUnavailable, Cause: cause,
	}
}

// translate returns the refusal in an error of the library, or nil if the service itself failed.
func translate(err error) *Error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	for _, ended := range []error{agent.ErrNoCredential, agent.ErrReused, fosite.ErrInvalidatedAuthorizeCode} {
		if errors.Is(err, ended) {
			return refuse("invalid_grant", "The code or token has expired or was revoked, or its agent or key has ended. Sign in again.")
		}
	}
	refusal, ok := errors.AsType[*fosite.RFC6749Error](err)
	if !ok || refusal.CodeField >= http.StatusInternalServerError {
		return nil
	}
	return &Error{Code: refusal.ErrorField, Description: refusal.GetDescription(), Status: refusal.CodeField, Cause: err}
}
