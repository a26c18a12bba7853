package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/version"
)

const (
	// timeout bounds one request, except streams and exports.
	timeout = 60 * time.Second
	// attempts is the largest number of attempts of one request.
	attempts = 5
	// longestWait bounds all attempts of a request and the pauses between them.
	longestWait = 2 * time.Minute
	// maxBody bounds one answer. A page of 100 predictions with the longest texts is smaller.
	maxBody = 32 << 20
)

// errTooLong means that an answer is larger than maxBody.
var errTooLong = errors.New("is too long")

// Client calls one installation. It is safe for concurrent use.
type Client struct {
	// Base is the address of the installation, without a slash at its end.
	Base string
	// Key is an API key or a session token, or "" for requests that need none; see ParseKey.
	Key string

	http *http.Client
}

// New returns a client without a key of the installation at base. It fails if base isn't an http(s) address.
func New(base string) (*Client, error) {
	base = strings.TrimRight(base, "/")
	parsed, err := url.Parse(base)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.RawQuery != "" {
		return nil, fmt.Errorf("%q is not an http(s) address, such as https://pulsecast.example", base)
	}
	return &Client{Base: base, http: &http.Client{CheckRedirect: refuseRedirect}}, nil
}

// ParseKey returns a key without the space around it, such as the line end of a file. It refuses a key that a header
// can't hold as a bearer.
func ParseKey(s string) (string, error) {
	key := strings.TrimSpace(s)
	for i, r := range []rune(key) {
		if r <= ' ' || r > '~' {
			return "", fmt.Errorf("character %d of the API key is %q, which no key has: copy the key again, alone and in one line", i+1, r)
		}
	}
	return key, nil
}

// refuseRedirect keeps the key from being sent to an address that the caller didn't choose.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Request is one call of the API.
type Request struct {
	Method string // GET if empty
	Path   string // from the root, such as /api/stats
	Query  url.Values
	Body   []byte // JSON
	// IdempotencyKey makes a POST safe to repeat.
	IdempotencyKey string
}

func (r Request) repeatable() bool { return r.Method != http.MethodPost || r.IdempotencyKey != "" }

// NewIdempotencyKey returns a unique key.
func NewIdempotencyKey() string { return uuid.NewString() }

// Do makes a request and decodes the answer into v, unless v is nil. It repeats the request while that is
// safe and may help. It returns the raw bytes of the answer. A *Refusal is the service's refusal. An
// *Unreachable means that no answer of Pulsecast came.
func (c *Client) Do(ctx context.Context, r Request, v any) (body []byte, err error) {
	body, err = repeat(ctx, r.repeatable(), func() ([]byte, error) { return c.once(ctx, r) })
	if err != nil || v == nil {
		return body, err
	}
	if err := json.Unmarshal(body, v); err != nil {
		return body, &Unreachable{c.Base + r.Path + " did not answer like Pulsecast", err}
	}
	return body, nil
}

// repeat makes attempts until one succeeds or another one wouldn't help. It returns the error of the last
// attempt.
func repeat[T any](ctx context.Context, safe bool, attempt func() (T, error)) (T, error) {
	var last error
	result, err := backoff.Retry(ctx, func() (T, error) {
		var one T
		one, last = attempt()
		return one, repeatLater(last, safe)
	}, backoff.WithMaxTries(attempts), backoff.WithMaxElapsedTime(longestWait))
	if err != nil && ctx.Err() == nil {
		return result, last
	}
	return result, err
}

// repeatLater returns err as backoff.Retry expects it: marked as permanent if another attempt wouldn't help,
// and with the time to wait if the service names one. A rate-limited request is always safe to repeat,
// because the service did nothing.
func repeatLater(err error, safe bool) error {
	if err == nil {
		return nil
	}
	refusal, refused := errors.AsType[*Refusal](err)
	switch {
	case errors.Is(err, errTooLong):
		return backoff.Permanent(err)
	case refused && refusal.Status < 500 && refusal.Status != http.StatusTooManyRequests:
		return backoff.Permanent(err)
	case !safe && !(refused && refusal.Status == http.StatusTooManyRequests):
		return backoff.Permanent(err)
	case refused && refusal.RetryAfter > 0:
		return errors.Join(err, &backoff.RetryAfterError{Duration: refusal.RetryAfter})
	}
	return err
}

func (c *Client) once(ctx context.Context, r Request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := c.request(ctx, r, "application/json")
	if err != nil {
		return nil, err
	}
	res, err := c.answer(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return c.read(res)
}

// read reads the body of an answer. A body above maxBody is errTooLong.
func (c *Client) read(res *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err != nil {
		return nil, unreachable(c.Base, err)
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("the answer of %s %w: the limit is %d bytes", c.Base, errTooLong, maxBody)
	}
	return body, nil
}

// answer makes one request and returns the answer if it is a success. It doesn't read the body.
func (c *Client) answer(req *http.Request) (*http.Response, error) {
	res, err := c.http.Do(req)
	if err != nil {
		return nil, unreachable(c.Base, err)
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer res.Body.Close()
	body, err := c.read(res)
	if err != nil {
		return nil, err
	}
	return nil, newRefusal(res, body)
}

func (c *Client) request(ctx context.Context, r Request, accept string) (*http.Request, error) {
	address := c.Base + r.Path
	if len(r.Query) > 0 {
		address += "?" + r.Query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, cmp.Or(r.Method, http.MethodGet), address, bytes.NewReader(r.Body))
	if err != nil {
		return nil, fmt.Errorf("%s is not an address: %w", address, err)
	}
	req.Header.Set("User-Agent", "pulsecast-cli/"+version.Build())
	req.Header.Set("Accept", accept)
	if len(r.Body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	if r.IdempotencyKey != "" {
		req.Header.Set("Idempotency-Key", r.IdempotencyKey)
	}
	return req, nil
}
