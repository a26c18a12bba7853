package release

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestListEnds checks that a server whose list of days never ends is refused.
func TestListEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		next     func(n int64) string // the cursor after request n
		requests int64
		want     string
	}{
		"the same cursor":    {func(int64) string { return "a" }, 2, "repeats a cursor"},
		"a longer cycle":     {func(n int64) string { return fmt.Sprint(n % 3) }, 4, "repeats a cursor"},
		"always another one": {func(n int64) string { return fmt.Sprint(n) }, maxPages, "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				n := requests.Add(1)
				if n > maxPages {
					t.Errorf("got request %d, want at most %d", n, maxPages)
					w.WriteHeader(http.StatusNotFound)
					return
				}
				fmt.Fprintf(w, `{"ok":true,"days":[],"nextCursor":%q}`, c.next(n))
			}))
			t.Cleanup(server.Close)
			remote, err := OpenURL(t.Context(), server.URL)
			if err == nil {
				remote.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || requests.Load() != c.requests {
				t.Errorf("got %v after %d requests, want %q after %d", err, requests.Load(), c.want, c.requests)
			}
		})
	}
}

// TestForgetKeepsNewDownload checks that a caller of a failed download doesn't drop the download that another
// caller began meanwhile. A third caller would then write the same file at the same time.
func TestForgetKeepsNewDownload(t *testing.T) {
	t.Parallel()
	failed, next := &download{}, &download{}
	r := &Remote{files: map[string]*download{"f": failed}}
	r.forget("f", failed)
	if r.files["f"] != nil {
		t.Error("the failed download is kept")
	}
	r.files["f"] = next
	r.forget("f", failed)
	if r.files["f"] != next {
		t.Error("the new download was dropped")
	}
}
