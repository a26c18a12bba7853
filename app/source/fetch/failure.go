package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pulsecast/pulsecast/app/source"
)

const (
	maxRedirects = 5
	// maxRetryAfter keeps a confused upstream from silencing a source for days.
	maxRetryAfter = time.Hour
	excerptBytes  = 200
	// maxCounted is how much of a refusal is read on, only to tell its length.
	maxCounted = 256 << 10
)

// stayOnHost follows a redirect only within the host that was configured; any
// other one is returned as it is and becomes an error of its status.
func stayOnHost(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	downgrade := first.Scheme == "https" && req.URL.Scheme != "https"
	if req.URL.Host != first.Host || downgrade || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

func failure(ctx context.Context, req Request, err error) *source.Error {
	// The URL in a *url.Error may hold more than a log should; place() is enough.
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return &source.Error{Reason: reason(ctx, err), Err: fmt.Errorf("%s: %w", place(req.URL), err)}
}

func reason(ctx context.Context, err error) string {
	ne, isNet := errors.AsType[net.Error](err)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return "cancelled"
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), isNet && ne.Timeout():
		return "timeout"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	}
	return "unreachable"
}

func (c *Client) refusal(req Request, resp *http.Response) rejected {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, source.MaxPayload))
	body = masked(req, body)
	beyond, _ := io.CopyN(io.Discard, resp.Body, maxCounted)
	excerpt := body[:min(len(body), excerptBytes)]
	word := "http_" + strconv.Itoa(resp.StatusCode)
	if resp.StatusCode == http.StatusUnauthorized {
		word = "unauthorized"
	}
	return rejected{&source.Error{
		Reason:     word,
		RetryAfter: retryAfter(resp.StatusCode, resp.Header, c.opts.Now()),
		Err:        fmt.Errorf("%s: status %d: %q", place(req.URL), resp.StatusCode, excerpt),
	}, body, beyond}
}

// retryAfter is the pause an upstream asks for: Retry-After in seconds or as an
// HTTP date, else, on a 429, Reddit's X-Ratelimit-Reset in seconds; at most an
// hour, 0 when there is none.
func retryAfter(status int, h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	if value == "" && status == http.StatusTooManyRequests {
		value = strings.TrimSpace(h.Get("X-Ratelimit-Reset"))
	}
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil || !(seconds > 0) {
		return 0
	}
	if seconds > maxRetryAfter.Seconds() {
		return maxRetryAfter
	}
	return time.Duration(seconds * float64(time.Second))
}

// place names an address for logs: host and path, without query or credentials.
func place(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(unreadable address)"
	}
	return u.Host + u.EscapedPath()
}

func sleep(ctx context.Context, d time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d {
		return context.DeadlineExceeded
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
