package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Refusal is an answer other than a success, in the form of RFC 9457 and the interface.
type Refusal struct {
	Status    int    `json:"status"` // HTTP status
	Code      string `json:"code"`   // names the kind; its meaning never changes
	Detail    string `json:"detail"` // what to send instead
	Errors    []FieldError
	RequestID string `json:"requestId"`
	// Cursor is the cursor to continue with if Code is cursor_expired.
	Cursor string `json:"cursor"`
	// RetryAfter is 0 if the answer named no time.
	RetryAfter time.Duration `json:"-"`
	// Body is the unchanged answer.
	Body []byte `json:"-"`
}

// FieldError is a complaint about one field of a request.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

func (r *Refusal) Error() string {
	var b strings.Builder
	b.WriteString(r.Detail)
	for _, f := range r.Errors {
		if !strings.Contains(r.Detail, f.Message) {
			fmt.Fprintf(&b, "\n  %s %s", f.Field, f.Message)
		}
	}
	fmt.Fprintf(&b, " (%d %s", r.Status, r.Code)
	if r.RequestID != "" {
		b.WriteString(", request " + r.RequestID)
	}
	return b.String() + ")"
}

func newRefusal(res *http.Response, body []byte) *Refusal {
	r := &Refusal{}
	if json.Unmarshal(body, r) != nil || r.Code == "" {
		r = &Refusal{Code: "unexpected_answer", Detail: "The answer is not from Pulsecast. Check the address."}
		if to := res.Header.Get("Location"); to != "" {
			r.Detail = "The address leads to " + to + ". Use that as --base-url."
		}
	}
	r.Status, r.Body = res.StatusCode, body
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds > 0 {
		r.RetryAfter = time.Duration(seconds) * time.Second
	}
	return r
}

// Unreachable means that no answer came, or one that isn't from Pulsecast.
type Unreachable struct {
	what  string // such as "https://pulsecast.example can't be reached"
	cause error
}

func (u *Unreachable) Error() string { return fmt.Sprintf("%s: %v", u.what, u.cause) }

func (u *Unreachable) Unwrap() error { return u.cause }

// unreachable removes the address that net/http puts before its errors.
func unreachable(base string, err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = cmp.Or(failed.Err, err)
	}
	return &Unreachable{base + " can't be reached", err}
}
