package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/tmaxmax/go-sse"
)

const (
	// maxStreamed bounds one update of a stream.
	maxStreamed = 1 << 20
	// silence is how long a stream may send nothing, not even a heartbeat, before it counts as dead.
	silence = 90 * time.Second
)

// Streamed is one update of a stream: its type, its id for resuming, and its JSON.
type Streamed struct {
	Type, ID, Data string
}

// Watch follows /api/events until ctx ends or each fails. It calls each for every update in order. It
// resumes an ended stream where it was. Watch returns a refusal if connecting again wouldn't help.
func (c *Client) Watch(ctx context.Context, query url.Values, each func(Streamed) error) error {
	w := &watch{client: c, query: query, each: each, pauses: backoff.NewExponentialBackOff()}
	w.pauses.MaxInterval = time.Minute
	for {
		err := w.follow(ctx)
		if failed, ok := errors.AsType[*backoff.PermanentError](err); ok {
			return failed.Unwrap()
		}
		pause := w.pauses.NextBackOff()
		if later, ok := errors.AsType[*backoff.RetryAfterError](err); ok {
			pause = later.Duration
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// watch is one stream over several connections.
type watch struct {
	client *Client
	query  url.Values
	each   func(Streamed) error
	pauses *backoff.ExponentialBackOff
	lastID string
}

// follow reads one connection to its end.
func (w *watch) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := w.client.request(ctx, Request{Path: "/api/events", Query: w.query}, "text/event-stream")
	if err != nil {
		return backoff.Permanent(err)
	}
	if w.lastID != "" {
		req.Header.Set("Last-Event-ID", w.lastID)
	}
	dead := time.AfterFunc(silence, cancel)
	defer dead.Stop()
	res, err := w.client.answer(req)
	if err != nil {
		return repeatLater(err, true)
	}
	defer res.Body.Close()
	return w.read(alive{res.Body, dead})
}

func (w *watch) read(body io.Reader) error {
	for one, err := range sse.Read(body, &sse.ReadConfig{MaxEventSize: maxStreamed}) {
		if err != nil {
			return fmt.Errorf("read the stream of %s: %w", w.client.Base, err)
		}
		w.lastID = cmp.Or(one.LastEventID, w.lastID)
		if one.Data == "" { // no event: the stream tells its position
			continue
		}
		w.pauses.Reset()
		if err := w.each(Streamed{one.Type, w.lastID, one.Data}); err != nil {
			return backoff.Permanent(err)
		}
	}
	return nil
}

// alive extends the deadline of a stream at each read. A stream has no end, so the end of a connection is an error.
// Otherwise sse.Read would take an event that was cut off there for a whole one.
type alive struct {
	io.Reader
	dead *time.Timer
}

func (a alive) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	a.dead.Reset(silence)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
