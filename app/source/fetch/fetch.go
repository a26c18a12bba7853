// Package fetch reads JSON and Atom documents from upstreams that may be slow,
// broken or hostile. Every call is bounded in time and in bytes, and every
// failure is a *source.Error with one fixed word.
//
// The addresses are the operator's own configuration and therefore trusted,
// loopback included. Addresses found inside data must not be passed here.
package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/pulsecast/pulsecast/app/source"
)

// Options shape a Client. The zero value of each field is its default.
type Options struct {
	// UserAgent names the service to the upstream; a request may carry its own.
	UserAgent string
	// AttemptTimeout bounds one attempt, from dialling to the last byte; 10 s.
	AttemptTimeout time.Duration
	// Deadline bounds one call: all attempts and the pauses between them; 30 s.
	Deadline time.Duration
	// MaxBytes caps a body after decompression; 16 MiB.
	MaxBytes int64
	// Tries is how often one call may ask, the first included; 3.
	Tries int
	// MaxPause is the longest pause between two attempts; 10 s. An upstream that
	// asks for a longer one is not asked again by this call.
	MaxPause time.Duration

	// Wrap surrounds the transport, to watch what goes through it; nil: nobody does.
	Wrap func(http.RoundTripper) http.RoundTripper

	// Transport, Now and Sleep are for tests.
	Transport http.RoundTripper
	Now       func() time.Time
	Sleep     func(context.Context, time.Duration) error
}

// Client reads from upstreams. It is safe for concurrent use.
type Client struct {
	opts Options
	http *http.Client
}

// New makes a client.
func New(opts Options) *Client {
	opts.fillDefaults()
	return &Client{opts: opts, http: &http.Client{
		Transport:     opts.Transport,
		CheckRedirect: stayOnHost,
	}}
}

func (o *Options) fillDefaults() {
	if o.UserAgent == "" {
		o.UserAgent = "Pulsecast/0.1 (+https://github.com/pulsecast/pulsecast)"
	}
	if o.AttemptTimeout <= 0 {
		o.AttemptTimeout = 10 * time.Second
	}
	if o.Deadline <= 0 {
		o.Deadline = 30 * time.Second
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 16 << 20
	}
	if o.Tries <= 0 {
		o.Tries = 3
	}
	if o.MaxPause <= 0 {
		o.MaxPause = 10 * time.Second
	}
	if o.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxResponseHeaderBytes = 64 << 10
		o.Transport = t
	}
	if o.Wrap != nil {
		o.Transport = o.Wrap(o.Transport)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
}

// Format is what a body must be.
type Format int

const (
	// JSON is one JSON document.
	JSON Format = iota
	// XML is a feed.
	XML
)

// Request is one question to an upstream: a GET, or a POST when Form is set.
type Request struct {
	URL    string
	Header http.Header
	Form   url.Values
	Format Format
	// Once forbids retries, for upstreams that limit how often they are called.
	Once bool
}

// Response is an answer of status 200.
type Response struct {
	// Body is valid UTF-8 without a byte order mark and without the control
	// characters that would make it unreadable.
	Body   []byte
	Header http.Header
	// Raw is the body as it came.
	Raw []byte
}

// Hash returns the SHA-256 of the body as it came, in hex.
func (r *Response) Hash() string {
	sum := sha256.Sum256(r.Raw)
	return hex.EncodeToString(sum[:])
}

// rejected is a failure with what the upstream sent, when it sent something.
type rejected struct {
	*source.Error
	body []byte
	cut  int64
}

// JSON asks and decodes the answer into dst. A body that does not decode is a
// *source.Error with Reason "parse".
func (c *Client) JSON(ctx context.Context, req Request, dst any) (*Response, error) {
	req.Format = JSON
	resp, err := c.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(resp.Body, dst); err != nil {
		Reject(ctx, req, "parse", resp.Raw, 0)
		return nil, &source.Error{Reason: "parse", Err: fmt.Errorf("decode %s: %w", place(req.URL), err)}
	}
	return resp, nil
}

// Do asks, and asks again after a timeout, a 429 or a 5xx, with exponential
// back-off and jitter, or after the pause the upstream named. Every error is a
// *source.Error; RetryAfter is set when the upstream named a pause.
func (c *Client) Do(ctx context.Context, req Request) (*Response, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.Deadline)
	defer cancel()
	pauses := &backoff.ExponentialBackOff{
		InitialInterval:     500 * time.Millisecond,
		RandomizationFactor: 0.5,
		Multiplier:          2,
		MaxInterval:         c.opts.MaxPause,
	}
	pauses.Reset()
	for try := 1; ; try++ {
		resp, err := c.attempt(ctx, req)
		if err.Error == nil {
			return resp, nil
		}
		pause := min(pauses.NextBackOff(), c.opts.MaxPause)
		if err.RetryAfter > 0 {
			pause = err.RetryAfter
		}
		last := req.Once || try >= c.opts.Tries || !transient(err.Reason) || pause > c.opts.MaxPause
		if last || c.opts.Sleep(ctx, pause) != nil {
			if err.body != nil {
				Reject(ctx, req, err.Reason, err.body, err.cut)
			}
			return nil, err.Error
		}
	}
}

// Reject hands over an answer to a request that could not be used; see
// source.Reject. A credential that the upstream says back is masked.
func Reject(ctx context.Context, req Request, reason string, body []byte, cut int64) {
	source.Reject(ctx, reason, masked(req, body), cut)
}

// masked is a body without the credential of the request, as it was sent or decoded.
func masked(req Request, body []byte) []byte {
	_, sent, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	_, password, _ := (&http.Request{Header: req.Header}).BasicAuth()
	for _, secret := range []string{sent, password} {
		if secret != "" {
			body = bytes.ReplaceAll(body, []byte(secret), []byte("[masked]"))
		}
	}
	return body
}

func transient(reason string) bool {
	return reason == "timeout" || reason == "http_429" || strings.HasPrefix(reason, "http_5")
}

func (c *Client) attempt(ctx context.Context, req Request) (*Response, rejected) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.AttemptTimeout)
	defer cancel()
	httpReq, err := c.build(ctx, req)
	if err != nil {
		return nil, rejected{Error: &source.Error{
			Reason: "unreachable", Err: fmt.Errorf("build request for %s: %w", place(req.URL), err),
		}}
	}
	resp, err := c.http.Do(httpReq)
	if err != nil {
		return nil, rejected{Error: failure(ctx, req, err)}
	}
	defer func() {
		// What little is left lets the connection be used again; more is not worth reading.
		_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
		_ = resp.Body.Close()
	}()
	if resp.StatusCode != http.StatusOK {
		return nil, c.refusal(req, resp)
	}
	return c.read(ctx, req, resp)
}

func (c *Client) build(ctx context.Context, req Request) (*http.Request, error) {
	method, form := http.MethodGet, io.Reader(nil)
	if req.Form != nil {
		method, form = http.MethodPost, strings.NewReader(req.Form.Encode())
	}
	r, err := http.NewRequestWithContext(ctx, method, req.URL, form)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", c.opts.UserAgent)
	r.Header.Set("Accept", "application/json")
	if req.Format == XML {
		r.Header.Set("Accept", "application/atom+xml, application/xml;q=0.9")
	}
	if req.Form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, values := range req.Header {
		r.Header[name] = values
	}
	return r, nil
}

func (c *Client) read(ctx context.Context, req Request, resp *http.Response) (*Response, rejected) {
	if resp.ContentLength > c.opts.MaxBytes {
		start, _ := io.ReadAll(io.LimitReader(resp.Body, source.MaxPayload))
		return nil, rejected{c.tooLarge(req), start, resp.ContentLength - int64(len(start))}
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, c.opts.MaxBytes+1))
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, rejected{failure(ctx, req, err), raw, 0}
	case err != nil:
		return nil, rejected{&source.Error{Reason: "parse", Err: fmt.Errorf("read %s: %w", place(req.URL), err)}, raw, 0}
	case int64(len(raw)) > c.opts.MaxBytes:
		return nil, rejected{c.tooLarge(req), raw, 0}
	}
	body := normalise(raw)
	if err := req.Format.check(body, resp.Header.Get("Content-Type")); err != nil {
		return nil, rejected{&source.Error{Reason: "parse", Err: fmt.Errorf("%s: %w", place(req.URL), err)}, raw, 0}
	}
	return &Response{Body: body, Header: resp.Header, Raw: raw}, rejected{}
}

func (c *Client) tooLarge(req Request) *source.Error {
	return &source.Error{Reason: "too_large",
		Err: fmt.Errorf("%s: more than %d bytes", place(req.URL), c.opts.MaxBytes)}
}

func normalise(body []byte) []byte {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	body = bytes.ToValidUTF8(body, nil)
	if bytes.ContainsFunc(body, forbidden) {
		body = bytes.Map(func(r rune) rune {
			if forbidden(r) {
				return -1
			}
			return r
		}, body)
	}
	return bytes.TrimSpace(body)
}

// forbidden are the control characters that neither JSON nor XML allows anywhere:
// one of them inside one title would make the whole document unreadable.
func forbidden(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' }

var errHTML = errors.New("an HTML page instead of data")

// check refuses what cannot be the wanted document. A wrong Content-Type alone is
// forgiven: upstreams and their proxies often mislabel data, never a page.
func (f Format) check(body []byte, contentType string) error {
	if len(body) == 0 {
		return errors.New("an empty body")
	}
	start := strings.ToLower(string(body[:min(len(body), 64)]))
	page := strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html")
	if page || (f == JSON && body[0] == '<') {
		return errHTML
	}
	if f == XML && body[0] != '<' {
		return fmt.Errorf("not XML (%.80s)", contentType)
	}
	return nil
}
