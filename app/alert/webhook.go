package alert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	attemptTimeout = 5 * time.Second
	attempts       = 3
)

// webhook posts messages to the operator's address, which may be a loopback address. The address
// may be a secret, so no error contains it.
type webhook struct {
	address string
	pause   time.Duration
	client  *http.Client
}

func newWebhook(address string, pause time.Duration) *webhook {
	if pause <= 0 {
		pause = time.Second
	}
	return &webhook{address: address, pause: pause, client: &http.Client{
		Timeout: attemptTimeout,
		// By default, a client follows a redirect of a POST with a GET, which loses the message. So
		// a redirect counts as a failure.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// post delivers a message in up to three attempts. It repeats only failures that may pass. When the
// process stops, an attempt that has begun is not cut off. Otherwise its message could be delivered
// without being recorded.
func (w *webhook) post(ctx context.Context, m message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval = w.pause
	_, err = backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, w.attempt(context.WithoutCancel(ctx), body) },
		backoff.WithBackOff(pauses), backoff.WithMaxTries(attempts))
	return err
}

func (w *webhook) attempt(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.address, bytes.NewReader(body))
	if err != nil {
		return backoff.Permanent(errors.New("ALERT_WEBHOOK_URL is not a valid address for a POST"))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "pulsecast")
	resp, err := w.client.Do(req)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err // leaves out the address
		}
		return err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // lets the connection be reused
	switch code := resp.StatusCode; {
	case code < 300:
		return nil
	case code >= 500, code == http.StatusTooManyRequests:
		return fmt.Errorf("the webhook answered %d", code)
	default:
		return backoff.Permanent(fmt.Errorf("the webhook answered %d", code))
	}
}
