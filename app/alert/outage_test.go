package alert_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/alert"
)

// TestOutageIsTold checks that one message is sent if the database can't be used for a while, and
// one when it is back. A restart of seconds sends no message. A failed delivery is repeated. The
// database itself isn't used.
func TestOutageIsTold(t *testing.T) {
	t.Parallel()
	p := &world{t: t, now: noon}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	var broken error
	o := alert.NewOutage(alert.OutageOptions{
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return p.now }, Webhook: server.URL + "/hook/s3cret",
		BaseURL: "https://pulse.example", Check: func(context.Context) error { return broken }, Pause: time.Millisecond,
	})
	for i, step := range []struct {
		wait    time.Duration
		broken  bool
		answers []int
		state   string // part of the message that is sent; empty if no message is sent
		text    string
	}{
		{0, false, nil, "", ""},
		{time.Second, true, nil, "", ""},
		{10 * time.Second, true, nil, "", ""},
		{time.Second, false, nil, "", ""}, // a restart
		{time.Second, true, nil, "", ""},
		{14 * time.Second, true, nil, "", ""},
		{time.Second, true, []int{500, 500, 500}, "", ""}, // not delivered
		{time.Second, true, nil, "firing", "the database can't be used or takes no writes. Signals"},
		{time.Minute, true, nil, "", ""},
		{time.Second, false, []int{500, 500, 500}, "", ""}, // not delivered
		{time.Second, false, nil, "resolved", "resolved after 1 min"},
		{time.Minute, false, nil, "", ""},
	} {
		p.now = p.now.Add(step.wait)
		broken = nil
		if step.broken {
			broken = errors.New("secret cause")
		}
		p.answers, p.heard = step.answers, nil
		o.Tick(t.Context())
		switch {
		case step.state == "" && len(p.heard) > 0:
			t.Errorf("step %d: sent %+v, want no message", i, p.heard)
		case step.state == "":
		case len(p.heard) != 1 || p.heard[0].State != step.state || p.heard[0].Alert != "database" || !strings.Contains(p.heard[0].Text, step.text):
			t.Errorf("step %d: sent %+v, want %s", i, p.heard, step.state)
		}
	}
}
