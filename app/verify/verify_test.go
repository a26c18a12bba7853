package verify_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/verify"
)

// TestBoardNotBuilt checks that a category without a settled event isn't reported as rebuilt. It
// has no boards.
func TestBoardNotBuilt(t *testing.T) {
	t.Parallel()
	const prediction = `{"id":"p","confidence":0.7,"status":"open","weight":1,"agent":{"id":"a","handle":"a"},
		"market":{"id":"m","outcome":"Yes","event":null,"category":"sports","scheduledCloseAt":"2026-12-01T00:00:00Z"},
		"baseline":{"probability":0.6,"before":0.6,"after":0.6,"previous":null}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api/predictions":
			fmt.Fprintf(w, `{"ok":true,"predictions":[%s],"nextCursor":null}`, prediction)
		case r.URL.Query().Get("category") == "":
			fmt.Fprint(w, `{"ok":true,"asOf":"2026-11-22T00:00:00Z","prior":{"mu":0.5,"tau":0.5,"kappa":100},"leaderboard":[],"nextCursor":null}`)
		default:
			fmt.Fprint(w, `{"ok":true,"asOf":null,"leaderboard":[],"nextCursor":null}`)
		}
	}))
	t.Cleanup(server.Close)
	r, err := verify.Run(t.Context(), server.URL, server.Client())
	if err != nil || len(r.Differences) > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if r.Events != 1 || r.Boards != 4 || len(r.Moved) > 0 {
		t.Errorf("got %d events, %d boards, moved %q; want 1, 4 and none", r.Events, r.Boards, r.Moved)
	}
}

// TestIncompletePredictions checks that a prediction that lacks its market is accepted or reported,
// whatever else the server sends.
func TestIncompletePredictions(t *testing.T) {
	t.Parallel()
	const (
		agent    = `"agent":{"id":"a","handle":"a","hidden":false}`
		withheld = `"id":"p","confidence":null,"status":"open","reveal":"close","market":null,` + agent
		revealed = `"id":"p","confidence":0.7,"status":"open","reveal":"close","market":null,
			"title":"T","thesis":"S","horizonAt":"2026-12-01T00:00:00Z","category":"other","model":"","evidence":[]`
		hash = `"hash":"4952d0722f7e713daf2536abbdc0b1cafffc0536a0ecca1d876a838c6af73df9"`
		salt = `"salt":"00"`
	)
	for name, c := range map[string]struct {
		prediction string
		hashes     int
		difference string
	}{
		"withheld without a market":      {`{` + withheld + `,` + hash + `}`, 0, ""},
		"withheld without a hash":        {`{` + withheld + `}`, 0, "its hash is missing"},
		"sealed without a market":        {`{` + revealed + `,` + agent + `,` + hash + `,` + salt + `}`, 1, ""},
		"revealed without a salt":        {`{` + revealed + `,` + agent + `,` + hash + `}`, 0, "its salt is missing"},
		"revealed without a hash":        {`{` + revealed + `,` + agent + `,` + salt + `}`, 0, "its hash is missing"},
		"revealed without both":          {`{` + revealed + `,` + agent + `}`, 0, "its hash is missing"},
		"revealed with a hidden text":    {`{` + revealed + `,` + agent + `,` + hash + `,"hidden":true}`, 0, ""},
		"revealed of a hidden profile":   {`{` + revealed + `,"agent":{"id":"a","hidden":true},` + hash + `}`, 0, ""},
		"hidden without a hash":          {`{` + revealed + `,` + agent + `,"hidden":true}`, 0, "its hash is missing"},
		"never withheld, without a hash": {`{"id":"p","confidence":0.7,"status":"open","reveal":"now","market":null,` + agent + `}`, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := verifyAnswers(t, func(*http.Request) string {
				return fmt.Sprintf(`{"ok":true,"predictions":[%s],"nextCursor":null}`, c.prediction)
			})
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(r.Differences, "\n")
			if r.Predictions != 1 || r.Hashes != c.hashes || r.Events != 0 || (all != "") != (c.difference != "") || !strings.Contains(all, c.difference) {
				t.Errorf("got %+v, want 1 prediction, %d hashes, no event and the difference %q", r, c.hashes, c.difference)
			}
		})
	}
}

// TestEndlessPages checks that a server can't make a verification go on for ever.
func TestEndlessPages(t *testing.T) {
	t.Parallel()
	const one = `{"id":"p","confidence":0.7,"status":"open","agent":{"id":"a","handle":"a"},"market":null}`
	for name, c := range map[string]struct {
		page func(n int) string
		want string
	}{
		"the same cursor": {func(int) string { return `{"predictions":[` + one + `],"nextCursor":"c"}` }, "the pages repeat a cursor"},
		"empty pages":     {func(n int) string { return fmt.Sprintf(`{"predictions":[],"nextCursor":"%d"}`, n) }, "a page has no records"},
		"other cursors":   {func(n int) string { return fmt.Sprintf(`{"predictions":[%s],"nextCursor":"%d"}`, one, n) }, "more than 100000 pages"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			_, err := verifyAnswers(t, func(*http.Request) string { n++; return c.page(n) })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v after %d pages, want %q", err, n, c.want)
			}
		})
	}
}

// verifyAnswers verifies an installation with these answers to a request for predictions, and without a board. The
// answers don't pass through the network, because some tests need many.
func verifyAnswers(t *testing.T, predictions func(*http.Request) string) (*verify.Report, error) {
	t.Helper()
	answer := func(r *http.Request) (*http.Response, error) {
		body := `{"ok":true,"asOf":null,"leaderboard":[],"nextCursor":null}`
		if r.URL.Path == "/api/predictions" {
			body = predictions(r)
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
	return verify.Run(t.Context(), "http://pulsecast.example", &http.Client{Transport: roundTrip(answer)})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
