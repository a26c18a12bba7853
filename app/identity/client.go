package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/pulsecast/pulsecast/app/version"
)

const (
	// providerTimeout bounds all requests to the provider during one check.
	providerTimeout = 1800 * time.Millisecond
	// breakFor is how long no request is sent to a failing provider before one request tries it again.
	breakFor = 2 * time.Second
	// maxAnswer is the longest answer read, in bytes.
	maxAnswer = 256 << 10
	// enoughUnread is how many different keys a provider that has judged none must answer with 400 to count as failing.
	enoughUnread = 3
)

// fault is a failure of the provider, as one fixed word for health.
type fault struct {
	word  string
	cause error
	// unreadable means that the provider can't read a key that isn't known. It says nothing about other keys.
	unreadable bool
}

func (f *fault) Error() string {
	if f.cause == nil {
		return "identity provider: " + f.word
	}
	return "identity provider: " + f.word + ": " + f.cause.Error()
}

func (f *fault) Unwrap() error { return f.cause }

// Fault returns the word for the provider's failure that is the cause of an error of Authenticate, for example
// "http_401". It returns "" if the error has another cause.
func Fault(err error) string {
	if f, ok := errors.AsType[*fault](err); ok {
		return f.word
	}
	return ""
}

const badRequest, missing, timedOut = "http_400", "http_404", "timeout"

func isMissing(err error) bool {
	f, ok := errors.AsType[*fault](err)
	return ok && f.word == missing
}

func isUnreadable(err error) bool {
	f, ok := errors.AsType[*fault](err)
	return ok && f.unreadable
}

// client sends every request to the provider through one of two circuit breakers. A key is known if its last check
// accepted it. Requests about all other keys have a separate breaker, because made-up keys can make the provider fail:
// it may refuse too many requests, or answer a strange key with an error. So a flood of them can't cut off the agents
// whose keys are known.
type client struct {
	http           *http.Client
	known, unknown *breaker               // for known keys, and for all others
	word           atomic.Pointer[string] // of the last fault; nil after a success
	unread         unreadKeys

	ctx    context.Context // of the background work
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// breaker lets requests fail at once for a while, after one time-out or three other failures in a row.
type breaker struct {
	*gobreaker.CircuitBreaker[struct{}]
	hung atomic.Bool
}

func newBreaker(log *slog.Logger, keys string) *breaker {
	b := new(breaker)
	b.CircuitBreaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout: breakFor,
		// A missing page says nothing about the provider's other pages.
		IsSuccessful: func(err error) bool { return err == nil || isMissing(err) || isUnreadable(err) },
		ReadyToTrip:  func(n gobreaker.Counts) bool { return b.hung.Swap(false) || n.ConsecutiveFailures >= 3 },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			level := slog.LevelWarn
			if to == gobreaker.StateClosed {
				level = slog.LevelInfo
			}
			log.Log(context.Background(), level, "identity provider", "keys", keys, "circuit", to.String(), "was", from.String())
		},
	})
	return b
}

// note records whether the last exchange timed out, for ReadyToTrip.
func (b *breaker) note(err error) {
	f, ok := errors.AsType[*fault](err)
	switch {
	case ok && f.word == timedOut:
		b.hung.Store(true)
	case err == nil:
		b.hung.Store(false)
	}
}

// unreadKeys are the keys that the provider answered with 400 before it judged one. A provider that judges keys may
// still answer a strange one with 400, so they count only until then.
type unreadKeys struct {
	mu sync.Mutex
	// keys has at most enoughUnread keys. It is nil once the provider has accepted a key or said that one isn't active.
	keys map[digest]bool
}

func (u *unreadKeys) add(key digest) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.keys != nil && len(u.keys) < enoughUnread {
		u.keys[key] = true
	}
}

// judge records that the provider has judged a key.
func (u *unreadKeys) judge() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.keys = nil
}

func (u *unreadKeys) enough() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.keys) == enoughUnread
}

type unknownKey struct{}

// aboutUnknownKey marks the requests of a check of a key that isn't known.
func aboutUnknownKey(ctx context.Context, key digest) context.Context {
	return context.WithValue(ctx, unknownKey{}, key)
}

func isAboutUnknownKey(ctx context.Context) bool { return ctx.Value(unknownKey{}) != nil }

// breakerOf returns the breaker for the requests of ctx.
func (c *client) breakerOf(ctx context.Context) *breaker {
	if isAboutUnknownKey(ctx) {
		return c.unknown
	}
	return c.known
}

func newClient(log *slog.Logger, wrap func(http.RoundTripper) http.RoundTripper) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 32
	c := &client{http: &http.Client{
		Transport: transport,
		// A redirect could send our secret or a key to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if wrap != nil {
		c.http.Transport = wrap(transport)
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.known, c.unknown = newBreaker(log, "known"), newBreaker(log, "unknown")
	c.unread.keys = map[digest]bool{}
	return c
}

// background runs work that no request waits for, until it is done or the client closes.
func (c *client) background(work func(ctx context.Context)) {
	c.work.Go(func() {
		ctx, cancel := context.WithTimeout(c.ctx, providerTimeout)
		defer cancel()
		work(ctx)
	})
}

func (c *client) close() {
	c.cancel()
	c.work.Wait()
	c.http.CloseIdleConnections()
}

func (c *client) lastError() string {
	if word := c.word.Load(); word != nil {
		return *word
	}
	if c.unread.enough() {
		return badRequest
	}
	return ""
}

// json sends a request and decodes its answer, which check then judges. Every status other than 200 is a
// fault, and so is any body other than the expected JSON. All faults count for the breaker. So check must
// not depend on input that an agent chose: otherwise one agent could cut off the others.
func (c *client) json(req *http.Request, into any, check func() error) error {
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "pulsecast/"+version.Build())
	// The request may be sent twice without harm, so net/http may replace a dead connection. The empty
	// value tells net/http so and is not sent.
	req.Header["X-Idempotency-Key"] = nil
	through := c.breakerOf(req.Context())
	_, err := through.Execute(func() (struct{}, error) {
		body, err := c.exchange(req)
		through.note(err)
		if err == nil && json.Unmarshal(body, into) != nil {
			err = &fault{word: "parse"} // the decoder's error might quote the answer
		}
		if err == nil {
			err = check()
		}
		return struct{}{}, err
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return &fault{word: "circuit_open"}
	}
	c.note(req.Context(), err)
	return err
}

// note records the outcome of an exchange for health. A stranger's key must not change it.
func (c *client) note(ctx context.Context, err error) {
	f, ok := errors.AsType[*fault](err)
	switch {
	case ok && f.unreadable:
		c.unread.add(ctx.Value(unknownKey{}).(digest))
	case ok:
		c.word.Store(&f.word)
	case err == nil:
		c.word.Store(nil)
	}
}

// exchange sends a request and reads the body of a 200.
func (c *client) exchange(req *http.Request) ([]byte, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, broken(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, broken(err)
	case resp.StatusCode != http.StatusOK:
		return nil, &fault{
			word: fmt.Sprintf("http_%d", resp.StatusCode),
			// Only a request about a key is a POST. A known key was readable before.
			unreadable: resp.StatusCode == http.StatusBadRequest && req.Method == http.MethodPost && isAboutUnknownKey(req.Context()),
		}
	case len(body) > maxAnswer:
		return nil, &fault{word: "too_large"}
	}
	return body, nil
}

func broken(err error) error {
	if netErr, ok := errors.AsType[net.Error](err); ok && netErr.Timeout() {
		return &fault{word: timedOut, cause: err}
	}
	return &fault{word: "unreachable", cause: err}
}
