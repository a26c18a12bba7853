package polymarket

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/source/fetch"
)

// answering returns a client that gets body as the response to every request.
func answering(body []byte) *Client {
	return New(Config{
		Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) },
		Fetch: fetch.New(fetch.Options{Tries: 1, Transport: transport(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r,
			}, nil
		})}),
	})
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// FuzzBook checks that a response of the order book names one of the market's outcomes or none.
func FuzzBook(f *testing.F) {
	for _, seed := range []string{
		`{"condition_id":"0xA","tokens":[{"outcome":"Yes","token_id":"1","winner":true},{"outcome":"No","token_id":"2","winner":false}]}`,
		`{"condition_id":"0xb","tokens":[]}`, `{"tokens":[{"winner":"true","token_id":2}]}`, `{"tokens":{}}`, `null`, `[`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	m := &market.Market{ID: "1", ConditionID: "0xa", Outcomes: []string{"Yes", "No"}, TokenIDs: []string{"1", "2"}}
	f.Fuzz(func(t *testing.T, body []byte) {
		i, ok, err := answering(body).Winner(context.Background(), m)
		if ok && (err != nil || i < 0 || i >= len(m.Outcomes)) {
			t.Errorf("%q: outcome %d, %v", body, i, err)
		}
	})
}

// FuzzEvents checks that only events that were requested are read.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		`{"events":[{"id":"1","title":"T","negRisk":true,"tags":[{"slug":"x"}]}]}`, `[{"id":1},{"id":"2"},null]`, `{"events":null}`, `{"events":[{"id":{}}]}`, `[`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, _ := answering(body).Events(context.Background(), []string{"1"})
		for _, e := range got {
			if e.ID != "1" {
				t.Errorf("%q gives event %q", body, e.ID)
			}
		}
	})
}
