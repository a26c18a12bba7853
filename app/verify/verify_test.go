package verify_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
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
	for name, c := range map[string]struct {
		prediction string
		hashes     int
	}{
		"withheld without a market": {`{"id":"p","confidence":null,"status":"open","agent":{"id":"a","handle":"a"},"market":null}`, 0},
		"sealed without a market": {`{"id":"p","confidence":0.7,"status":"open","agent":{"id":"a","handle":"a"},"market":null,
			"title":"T","thesis":"S","horizonAt":"2026-12-01T00:00:00Z","category":"other","model":"","evidence":[],"salt":"00",
			"hash":"4952d0722f7e713daf2536abbdc0b1cafffc0536a0ecca1d876a838c6af73df9"}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/api/predictions" {
					fmt.Fprintf(w, `{"ok":true,"predictions":[%s],"nextCursor":null}`, c.prediction)
					return
				}
				fmt.Fprint(w, `{"ok":true,"asOf":null,"leaderboard":[],"nextCursor":null}`)
			}))
			t.Cleanup(server.Close)
			r, err := verify.Run(t.Context(), server.URL, server.Client())
			if err != nil {
				t.Fatal(err)
			}
			if r.Predictions != 1 || r.Hashes != c.hashes || r.Events != 0 || len(r.Differences) > 0 {
				t.Errorf("got %+v, want 1 prediction, %d hashes, no event and no difference", r, c.hashes)
			}
		})
	}
}
