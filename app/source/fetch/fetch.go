// Package fetch reads JSON and Atom documents from upstreams that may be slow, broken or hostile. Every call
// has a limit in time and in bytes. Every failure is a *source.Error with one fixed word.
//
// The addresses come from the operator's configuration and are therefore trusted, loopback included. Never pass
// addresses found in data to this package.
package fetch

import (
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/pulsecast/pulsecast/app/source"
)

// Options configure a Client. A zero field has the default given in its comment.
type Options struct {
	// UserAgent identifies the service to the upstream. A request may set another one. Default: none is sent.
	UserAgent string
	// AttemptTimeout limits one attempt, from dialling to the last byte. Default: 10 s.
	AttemptTimeout time.Duration
	// Deadline limits one call with all its attempts and pauses. Default: 30 s.
	Deadline time.Duration
	// MaxBytes limits the body after decompression. Default: 16 MiB.
	MaxBytes int64
	// Tries is the number of attempts in one call, including the first. Default: 3.
	Tries int
	// MaxPause is the longest pause between two attempts. If an upstream asks for a longer one, the call ends.
	// Default: 10 s.
	MaxPause time.Duration

	// Wrap, if set, wraps the transport, to watch its requests.
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

// New returns a client.
func New(opts Options) *Client {
	opts.fillDefaults()
	return &Client{opts: opts, http: &http.Client{
		Transport:     opts.Transport,
		CheckRedirect: stayOnHost,
	}}
}

func (o *Options) fillDefaults() {
	o.AttemptTimeout = cmp.Or(o.AttemptTimeout, 10*time.Second)
	o.Deadline = cmp.Or(o.Deadline, 30*time.Second)
	o.MaxBytes = cmp.Or(o.MaxBytes, 16<<20)
	o.Tries = cmp.Or(o.Tries, 3)
	o.MaxPause = cmp.Or(o.MaxPause, 10*time.Second)
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
		o.Sleep = Sleep
	}
}

// Format is the expected format of a body.
type Format int

const (
	// JSON is one JSON document.
	JSON Format = iota
	// XML is a feed.
	XML
)

// Request is one request to an upstream: a GET, or a POST if Form is set.
type Request struct {
	URL    string
	Header http.Header
	Form   url.Values
	Format Format
	// Once forbids retries. It is for upstreams that limit the number of calls.
	Once bool
}

// Response is a response with status 200.
type Response struct {
	// Body is valid UTF-8. The byte order mark and invalid control characters are removed.
	Body   []byte
	Header http.Header
	// Raw is the body as received.
	Raw []byte
	// Age is how long before its arrival the source made the response, if a cache kept it; at most an hour.
	Age time.Duration
}

// Hash returns the SHA-256 of the body as received, in hex.
func (r *Response) Hash() string {
	sum := sha256.Sum256(r.Raw)
	return hex.EncodeToString(sum[:])
}

// rejected is a failure with what was received of the body, if anything.
type rejected struct {
	*source.Error
	body []byte
	cut  int64
}

// JSON makes a request and decodes the response into dst. If the body doesn't decode, it returns a
// *source.Error with Reason "parse".
func (c *Client) JSON(ctx context.Context, req Request, dst any) (*Response, error) {
	req.Format = JSON
	resp, err := c.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(resp.Body, dst); err != nil {
		Reject(ctx, req, "parse", resp.Raw, 0)
		return nil, &source.Error{Reason: "parse", Err: fmt.Errorf("decode %s: %w", hostAndPath(req.URL), err)}
	}
	return resp, nil
}

// Do makes a request. It tries again after a timeout, an interrupted response, a 429 or a 5xx. The pause is the one that
// the upstream asks for, else it grows exponentially, with jitter. Every error is a *source.Error. RetryAfter is set if
// the upstream asked for a pause.
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

// Reject reports an unusable response to a request; see source.Reject. It masks the request's credentials if
// the response repeats them.
func Reject(ctx context.Context, req Request, reason string, body []byte, cut int64) {
	source.Reject(ctx, reason, masked(req, body), cut)
}

// masked returns a body with the request's credentials masked, both as sent and decoded.
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
	return reason == "timeout" || reason == "interrupted" || reason == "http_429" || strings.HasPrefix(reason, "http_5")
}

func (c *Client) attempt(ctx context.Context, req Request) (*Response, rejected) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.AttemptTimeout)
	defer cancel()
	httpReq, err := c.build(ctx, req)
	if err != nil {
		return nil, rejected{Error: &source.Error{
			Reason: "unreachable", Err: fmt.Errorf("build request for %s: %w", hostAndPath(req.URL), err),
		}}
	}
	resp, err := c.http.Do(httpReq)
	if err != nil {
		return nil, rejected{Error: failure(ctx, req, err)}
	}
	defer func() {
		// Reading a short rest makes the connection reusable. A longer rest isn't worth it.
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
	case err != nil && !corrupt(err):
		return nil, rejected{&source.Error{Reason: "interrupted", Err: fmt.Errorf("read %s: %w", hostAndPath(req.URL), err)}, raw, 0}
	case err != nil:
		return nil, rejected{&source.Error{Reason: "parse", Err: fmt.Errorf("read %s: %w", hostAndPath(req.URL), err)}, raw, 0}
	case int64(len(raw)) > c.opts.MaxBytes:
		return nil, rejected{c.tooLarge(req), raw, 0}
	}
	body := normalise(raw)
	if err := req.Format.check(body, resp.Header.Get("Content-Type")); err != nil {
		return nil, rejected{&source.Error{Reason: "parse", Err: fmt.Errorf("%s: %w", hostAndPath(req.URL), err)}, raw, 0}
	}
	return &Response{Body: body, Header: resp.Header, Raw: raw, Age: age(resp.Header)}, rejected{}
}

// corrupt reports whether a body can't be decompressed although it was received.
func corrupt(err error) bool {
	_, invalid := errors.AsType[flate.CorruptInputError](err)
	return invalid || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum)
}

// maxAge limits the age that is believed, so that a wrong header can't date a reading back by days.
const maxAge = time.Hour

// age reads the Age header, in whole seconds; see RFC 9111, section 5.1. It returns 0 if there is none or it is invalid.
func age(h http.Header) time.Duration {
	first, _, _ := strings.Cut(h.Get("Age"), ",")
	seconds, err := strconv.ParseUint(strings.TrimSpace(first), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	return time.Duration(min(seconds, uint64(maxAge.Seconds()))) * time.Second
}

func (c *Client) tooLarge(req Request) *source.Error {
	return &source.Error{Reason: "too_large",
		Err: fmt.Errorf("%s: more than %d bytes", hostAndPath(req.URL), c.opts.MaxBytes)}
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

// forbidden reports whether a character is a control character that neither JSON nor XML allows. A single one
// in a title would make the whole document invalid.
func forbidden(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' }

var errHTML = errors.New("an HTML page instead of data")

// check refuses a body that can't be the expected document. It ignores the Content-Type, because upstreams and
// their proxies often label data wrongly. It always refuses an HTML page.
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
