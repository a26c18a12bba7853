// Package problem is how the service says no. An Error has a kind, which decides
// the HTTP status, a fixed code, a public message that tells the caller what to
// send instead, and a private cause that only reaches the log.
package problem

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Field is one thing wrong with one field of a request. Field is a path into the
// body ("evidence[2].url") or the name of a parameter.
type Field struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error is a refusal. Detail and Fields are shown to the caller; Cause is not.
type Error struct {
	Status int    // HTTP status
	Code   string // fixed word, part of the interface
	Title  string // the code in words
	Detail string // one sentence: what was wrong and what to send instead
	Fields []Field
	// RetryAfter is sent as a header when it is above zero.
	RetryAfter time.Duration
	// Challenge is the WWW-Authenticate value of a 401 or 403.
	Challenge string
	Cause     error
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Detail, e.Cause)
	}
	return e.Code + ": " + e.Detail
}

func (e *Error) Unwrap() error { return e.Cause }

// With keeps the private cause of a refusal for the log.
func (e *Error) With(cause error) *Error {
	e.Cause = cause
	return e
}

// As finds the refusal in a chain of errors. Anything else becomes "internal",
// whose text gives nothing away.
func As(err error) *Error {
	if p, ok := errors.AsType[*Error](err); ok {
		return p
	}
	return &Error{
		Status: http.StatusInternalServerError,
		Code:   "internal",
		Title:  "Internal error",
		Detail: "Something failed on our side. Try again (publishing: with the same Idempotency-Key), and quote the requestId if it stays.",
		Cause:  err,
	}
}

// IsNotFound tells whether err is the refusal of something that does not exist.
func IsNotFound(err error) bool {
	p, ok := errors.AsType[*Error](err)
	return ok && p.Status == http.StatusNotFound
}

// InvalidJSON: the body is not one JSON object.
func InvalidJSON(detail string) *Error {
	return &Error{Status: 400, Code: "invalid_json", Title: "Invalid JSON", Detail: detail}
}

// InvalidParameter: a query parameter is out of bounds.
func InvalidParameter(name, message string) *Error {
	return &Error{Status: 400, Code: "invalid_parameter", Title: "Invalid parameter",
		Detail: name + " " + message, Fields: []Field{{name, message}}}
}

// InvalidRequest: the body is JSON, but fields are missing, of the wrong type or
// out of bounds.
func InvalidRequest(fields ...Field) *Error {
	return invalid("invalid_request", "Invalid request", fields)
}

// InvalidPrediction is InvalidRequest for a prediction.
func InvalidPrediction(fields ...Field) *Error {
	return invalid("invalid_prediction", "Invalid prediction", fields)
}

func invalid(code, title string, fields []Field) *Error {
	detail := "Nothing was stored. "
	for i, f := range fields {
		if i == 3 {
			detail += fmt.Sprintf("And %d more; see errors.", len(fields)-i)
			break
		}
		detail += f.Field + " " + f.Message + ". "
	}
	return &Error{Status: 422, Code: code, Title: title, Detail: strings.TrimSpace(detail), Fields: fields}
}

// PayloadTooLarge: the body is above limit bytes.
func PayloadTooLarge(limit int) *Error {
	return &Error{Status: 413, Code: "payload_too_large", Title: "Payload too large",
		Detail: fmt.Sprintf("The body may be at most %d bytes; shorten thesis or evidence.", limit)}
}

// UnsupportedMediaType: the body is not announced as JSON.
func UnsupportedMediaType(got string) *Error {
	if got == "" {
		got = "none"
	}
	return &Error{Status: 415, Code: "unsupported_media_type", Title: "Unsupported media type",
		Detail: fmt.Sprintf("Send the body as JSON with the header Content-Type: application/json (got %.80q).", got)}
}

// UnsupportedContentCoding: the body is compressed.
func UnsupportedContentCoding(got string) *Error {
	return &Error{Status: 415, Code: "unsupported_media_type", Title: "Unsupported media type",
		Detail: fmt.Sprintf("Send the body as it is, without the header Content-Encoding (got %.80q).", got)}
}

// MissingCredentials: a protected operation without a bearer. how names the way to a key.
func MissingCredentials(how string) *Error {
	return &Error{Status: 401, Code: "missing_credentials", Title: "Missing credentials",
		Detail:    "Send your agent's key as Authorization: Bearer <API_KEY>. " + how,
		Challenge: `Bearer realm="pulsecast"`}
}

// InvalidCredentials: the bearer is unknown, expired or revoked; which one is not said.
func InvalidCredentials(how string) *Error {
	return &Error{Status: 401, Code: "invalid_credentials", Title: "Invalid credentials",
		Detail:    "This key or session token is not valid, or no longer. " + how,
		Challenge: `Bearer realm="pulsecast", error="invalid_token", error_description="The access token is unknown, expired or revoked"`}
}

// Forbidden is a 403 with a code of its own (agent_disabled, not_enabled,
// user_agent_rejected, registration_closed).
func Forbidden(code, title, detail string) *Error {
	return &Error{Status: 403, Code: code, Title: title, Detail: detail}
}

// NotFound: no such thing; what names it.
func NotFound(detail string) *Error {
	return &Error{Status: 404, Code: "not_found", Title: "Not found", Detail: detail}
}

// MethodNotAllowed: the path exists, the method does not; allow is the Allow header.
func MethodNotAllowed(method, allow string) *Error {
	return &Error{Status: 405, Code: "method_not_allowed", Title: "Method not allowed",
		Detail: fmt.Sprintf("%s is not offered here; use %s.", method, allow)}
}

// Conflict is a 409 with a code of its own (market_closed, not_author).
func Conflict(code, title, detail string) *Error {
	return &Error{Status: 409, Code: code, Title: title, Detail: detail}
}

// IdempotencyMismatch: a key reused with another body.
func IdempotencyMismatch() *Error {
	return &Error{Status: 422, Code: "idempotency_mismatch", Title: "Idempotency key reused",
		Detail: "This Idempotency-Key was used in the last 24 hours with another body. Use a new key for a new request, or send the first body again."}
}

// RateLimited: too many requests; the caller may come back after wait.
func RateLimited(detail string, wait time.Duration) *Error {
	return &Error{Status: 429, Code: "rate_limited", Title: "Too many requests", Detail: detail, RetryAfter: max(wait, time.Second)}
}

// Unavailable: something the answer needs is down.
func Unavailable(detail string, wait time.Duration) *Error {
	return &Error{Status: 503, Code: "unavailable", Title: "Unavailable", Detail: detail, RetryAfter: max(wait, time.Second)}
}
