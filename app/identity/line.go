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
	// providerTimeout bounds all that one check asks of the provider.
	providerTimeout = 1800 * time.Millisecond
	// breakFor is how long a provider in trouble is left alone before one request
	// tries it again.
	breakFor = 2 * time.Second
	// maxAnswer is the longest answer read, in bytes.
	maxAnswer = 256 << 10
)

// fault is the provider failing, as one fixed word for health.
type fault struct {
	word  string
	cause error
}

func (f *fault) Error() string {
	if f.cause == nil {
		return "identity provider: " + f.word
	}
	return "identity provider: " + f.word + ": " + f.cause.Error()
}

func (f *fault) Unwrap() error { return f.cause }

const missing = "http_404"

func isMissing(err error) bool {
	f, ok := errors.AsType[*fault](err)
	return ok && f.word == missing
}

// line carries every exchange with the provider. Behind it sits a circuit breaker:
// after one time-out, or three other failures in a row, the provider is left alone
// for a while and the callers are told at once.
type line struct {
	client  *http.Client
	breaker *gobreaker.CircuitBreaker[struct{}]
	hung    atomic.Bool
	word    atomic.Pointer[string] // of the last fault; nil after a success

	ctx    context.Context // of what runs in the background
	cancel context.CancelFunc
	work   sync.WaitGroup
}

func newLine(log *slog.Logger, wrap func(http.RoundTripper) http.RoundTripper) *line {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 32
	l := &line{client: &http.Client{
		Transport: transport,
		// A redirect could carry our secret or a key somewhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if wrap != nil {
		l.client.Transport = wrap(transport)
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout: breakFor,
		// A page that is not there says nothing about the others.
		IsSuccessful: func(err error) bool { return err == nil || isMissing(err) },
		ReadyToTrip:  func(c gobreaker.Counts) bool { return l.hung.Swap(false) || c.ConsecutiveFailures >= 3 },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			level := slog.LevelWarn
			if to == gobreaker.StateClosed {
				level = slog.LevelInfo
			}
			log.Log(context.Background(), level, "identity provider", "circuit", to.String(), "was", from.String())
		},
	})
	return l
}

// background runs work that no request waits for, until it is done or the line closes.
func (l *line) background(work func(ctx context.Context)) {
	l.work.Go(func() {
		ctx, cancel := context.WithTimeout(l.ctx, providerTimeout)
		defer cancel()
		work(ctx)
	})
}

func (l *line) close() {
	l.cancel()
	l.work.Wait()
	l.client.CloseIdleConnections()
}

func (l *line) lastError() string {
	if word := l.word.Load(); word != nil {
		return *word
	}
	return ""
}

// json does one exchange and decodes its answer, which check then judges. Every
// status but 200 is a fault, so is anything but the JSON expected; all count for the
// breaker. Nothing that an agent chose may decide over check's answer, or one
// agent could cut off the others.
func (l *line) json(req *http.Request, into any, check func() error) error {
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "pulsecast/"+version.Program())
	// Asking twice does no harm: a connection found dead may be replaced. The empty
	// value says so to net/http and is not sent.
	req.Header["X-Idempotency-Key"] = nil
	_, err := l.breaker.Execute(func() (struct{}, error) {
		body, err := l.exchange(req)
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
	l.note(err)
	return err
}

// note keeps the outcome of an exchange for health.
func (l *line) note(err error) {
	f, ok := errors.AsType[*fault](err)
	switch {
	case ok:
		l.word.Store(&f.word)
	case err == nil:
		l.word.Store(nil)
	}
}

// exchange sends a request and reads the body of a 200.
func (l *line) exchange(req *http.Request) ([]byte, error) {
	resp, err := l.client.Do(req)
	if err != nil {
		return nil, l.broken(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, l.broken(err)
	case resp.StatusCode != http.StatusOK:
		return nil, &fault{word: fmt.Sprintf("http_%d", resp.StatusCode)}
	case len(body) > maxAnswer:
		return nil, &fault{word: "too_large"}
	}
	l.hung.Store(false)
	return body, nil
}

func (l *line) broken(err error) error {
	if netErr, ok := errors.AsType[net.Error](err); ok && netErr.Timeout() {
		l.hung.Store(true)
		return &fault{"timeout", err}
	}
	return &fault{"unreachable", err}
}
