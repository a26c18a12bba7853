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
			fmt.Fprint(w, `{"ok":true,"asOf":"2026-11-22T00:00:00Z","leaderboard":[],"nextCursor":null}`)
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
