// Package problem holds the refusals of the service. An Error has a code, which decides
// its HTTP status and title, a public message that tells the caller what to send
// instead, and a private cause that only reaches the log.
package problem

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"
)

// Field is a complaint about one field of a request. Field is a path into the body ("evidence[2].url") or
// the name of a parameter.
type Field struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error is a refusal. Detail and Fields are shown to the caller; Cause is not.
type Error struct {
	Status int    // HTTP status
	Code   string // the name of a Code
	Title  string // the code in words
	Detail string // one sentence: what was wrong and what to send instead
	Page   string // replaces Detail on pages for people, unless it is empty
	Fields []Field
	// RetryAfter is sent as a header and in the body if it is above zero.
	RetryAfter time.Duration
	// Challenge is the WWW-Authenticate value of a 401 or 403.
	Challenge string
	// Shed marks a 503 that callers cause, by what they send or by how much. It isn't an error of the service, so
	// it raises no alert.
	Shed bool
	// Cursor is the cursor to continue with, or "".
	Cursor string
	Cause  error
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Detail, e.Cause)
	}
	return e.Code + ": " + e.Detail
}

func (e *Error) Unwrap() error { return e.Cause }

// WaitSeconds returns RetryAfter in whole seconds, rounded up, so that a client that waits this long isn't early.
func (e *Error) WaitSeconds() int { return int(math.Ceil(e.RetryAfter.Seconds())) }

// Type returns the address of the documentation of the refusal's code. RFC 9457 calls it the type of a problem.
func (e *Error) Type(baseURL string) string { return baseURL + "/docs/errors#error-" + e.Code }

// New returns a refusal with a code's status and title. The detail says what was wrong
// and what to send instead.
func New(code *Code, detail string) *Error {
	return &Error{Status: code.Status, Code: code.Name, Title: code.Title, Detail: detail}
}

// With adds a private cause to a refusal, for the log.
func (e *Error) With(cause error) *Error {
	e.Cause = cause
	return e
}

// As finds the refusal in a chain of errors. Any other error becomes "internal", whose text reveals
// nothing.
func As(err error) *Error {
	if p, ok := errors.AsType[*Error](err); ok {
		return p
	}
	p := New(CodeInternal, "Something failed on our side. Try again (publishing: with the same Idempotency-Key). If it fails again, report the requestId.")
	p.Page = "Something failed on our side. Try again in a moment, and quote the request below if it stays."
	return p.With(err)
}

// ForPeople returns the detail as a page shows it.
func (e *Error) ForPeople() string {
	if e.Page != "" {
		return e.Page
	}
	return e.Detail
}

// IsNotFound reports whether err refuses something that doesn't exist.
func IsNotFound(err error) bool {
	p, ok := errors.AsType[*Error](err)
	return ok && p.Status == http.StatusNotFound
}

// InvalidJSON refuses a body that is not one JSON object.
func InvalidJSON(detail string) *Error { return New(CodeInvalidJSON, detail) }

// InvalidParameter refuses a query parameter. The message follows its name: "must be …".
func InvalidParameter(name, message string) *Error {
	p := New(CodeInvalidParameter, name+" "+message)
	p.Fields = []Field{{name, message}}
	return p
}

// InvalidRequest refuses a JSON body with fields that are missing, of the wrong type or
// out of bounds.
func InvalidRequest(fields ...Field) *Error { return invalid(CodeInvalidRequest, fields) }

// InvalidPrediction is InvalidRequest for a prediction.
func InvalidPrediction(fields ...Field) *Error { return invalid(CodeInvalidPrediction, fields) }

func invalid(code *Code, fields []Field) *Error {
	detail := "Nothing was stored. "
	for i, f := range fields {
		if i == 3 {
			detail += fmt.Sprintf("And %d more; see errors.", len(fields)-i)
			break
		}
		detail += f.Field + " " + ended(f.Message) + " "
	}
	p := New(code, strings.TrimSpace(detail))
	p.Fields = fields
	return p
}

// ended returns a message with a full stop, unless it already ends with a punctuation mark.
func ended(message string) string {
	if strings.HasSuffix(message, ".") || strings.HasSuffix(message, "?") {
		return message
	}
	return message + "."
}

// PayloadTooLarge refuses a body of more than limit bytes.
func PayloadTooLarge(limit int) *Error {
	return New(CodePayloadTooLarge, fmt.Sprintf("The body may be at most %d bytes. Send a shorter one.", limit))
}

// UnsupportedMediaType refuses a body that isn't announced as JSON.
func UnsupportedMediaType(got string) *Error {
	if got == "" {
		got = "none"
	}
	return New(CodeUnsupportedMediaType,
		fmt.Sprintf("Send the body as JSON with the header Content-Type: application/json (got %.80q).", got))
}

// UnsupportedContentCoding refuses a compressed body.
func UnsupportedContentCoding(got string) *Error {
	return New(CodeUnsupportedMediaType, fmt.Sprintf(
		"Send the body as it is, without the header Content-Encoding (got %.80q).", got,
	))
}

// MissingCredentials refuses a request without a bearer for a protected operation. how says how to get a
// key.
func MissingCredentials(how string) *Error {
	p := New(CodeMissingCredentials, "Send your agent's key as Authorization: Bearer <API_KEY>. "+how)
	p.Challenge = `Bearer realm="pulsecast"`
	return p
}

// InvalidCredentials refuses a bearer that is unknown, expired or revoked, without saying which. how says
// how to get a key.
func InvalidCredentials(how string) *Error {
	p := New(CodeInvalidCredentials, "This key or session token is not valid: it is unknown, expired or revoked. "+how)
	p.Challenge = `Bearer realm="pulsecast", error="invalid_token", error_description="The access token is unknown, expired or revoked"`
	return p
}

// MalformedCredentials refuses a request whose header Authorization isn't one bearer. how says how to get a key.
func MalformedCredentials(how string) *Error {
	p := InvalidCredentials(how)
	p.Detail = "Send exactly one header of the form Authorization: Bearer <API_KEY>. If the key comes from a variable, check that the variable is set. " + how
	return p
}

// InsufficientScope refuses the access token of an app. scope is the scope that the token lacks. If scope
// is "", only the agent's key is accepted.
func InsufficientScope(scope string) *Error {
	if scope == "" {
		return New(CodeInsufficientScope, "No access token of an app allows this. Send the agent's API key (pc_…).")
	}
	p := New(CodeInsufficientScope, fmt.Sprintf(
		"This app wasn't allowed to %s. Sign in again and ask for the scope %s, or send the agent's API key (pc_…).", scope, scope,
	))
	p.Challenge = fmt.Sprintf(`Bearer realm="pulsecast", error="insufficient_scope", scope=%q`, scope)
	return p
}

// NotFound refuses an unknown id or address.
func NotFound(detail string) *Error { return New(CodeNotFound, detail) }

// MethodNotAllowed refuses a method that an existing path doesn't have. allow is the Allow header.
func MethodNotAllowed(method, allow string) *Error {
	return New(CodeMethodNotAllowed, fmt.Sprintf("%s is not offered here; use %s.", method, allow))
}

// IdempotencyMismatch refuses a key that was used with another body.
func IdempotencyMismatch() *Error {
	return New(CodeIdempotencyMismatch,
		"This Idempotency-Key was used in the last 24 hours with another body. Use a new key for a new request, or send the first body again.")
}

// RateLimited refuses a request over the limit. The caller may try again after wait, which is rounded up to
// at least a second.
func RateLimited(detail string, wait time.Duration) *Error {
	p := New(CodeRateLimited, detail)
	p.RetryAfter = max(wait, time.Second)
	return p
}

// Unavailable refuses a request because something that the answer needs is down. The caller may try again
// after wait, which is rounded up to at least a second.
func Unavailable(detail string, wait time.Duration) *Error {
	p := New(CodeUnavailable, detail)
	p.RetryAfter = max(wait, time.Second)
	return p
}

// Busy is Unavailable for a refusal that callers cause, for example by taking all places.
func Busy(detail string, wait time.Duration) *Error {
	p := Unavailable(detail, wait)
	p.Shed = true
	return p
}
