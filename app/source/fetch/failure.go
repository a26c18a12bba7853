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
	// maxRetryAfter limits the pause, so that a wrong header can't silence a source for days.
	maxRetryAfter = time.Hour
	excerptBytes  = 200
	// maxCounted is how many further bytes of a refusal are read, only to count them.
	maxCounted = 256 << 10
)

// stayOnHost follows a redirect only if it stays on the configured host and doesn't change from https to http.
// Any other redirect is returned as the response, and its status becomes the error.
func stayOnHost(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	downgrade := first.Scheme == "https" && req.URL.Scheme != "https"
	if req.URL.Host != first.Host || downgrade || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

func failure(ctx context.Context, req Request, err error) *source.Error {
	// The URL in a *url.Error may contain secrets that don't belong in a log. hostAndPath adds the safe part.
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return &source.Error{Reason: reason(ctx, err), Err: fmt.Errorf("%s: %w", hostAndPath(req.URL), err)}
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
		Err:        fmt.Errorf("%s: status %d: %q", hostAndPath(req.URL), resp.StatusCode, excerpt),
	}, body, beyond}
}

// retryAfter returns the pause that an upstream asks for, or 0 if it asks for none. It reads Retry-After, in
// seconds or as an HTTP date. On a 429 without that header, it reads Reddit's X-Ratelimit-Reset, in seconds.
// The result is at most an hour.
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

// hostAndPath returns the part of an address that is safe to log: host and path, without query and credentials.
func hostAndPath(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(unreadable address)"
	}
	return u.Host + u.EscapedPath()
}

// Sleep waits for d. It returns an error if ctx ends earlier, at once if its deadline is earlier.
func Sleep(ctx context.Context, d time.Duration) error {
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
