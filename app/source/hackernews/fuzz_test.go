package hackernews

import (
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/plaintext"
)

// FuzzDecodeHit checks that a hit is either dropped with a reason or gives a valid item.
func FuzzDecodeHit(f *testing.F) {
	for _, seed := range []string{
		`{"objectID":"1","title":"T","url":"https://x.org","author":"a","points":1,"num_comments":2,"created_at_i":1}`, `{}`, `null`, `[]`,
		`{"objectID":1,"title":"\u202e","created_at_i":"x"}`, `{"title":"&lt;script&gt;","points":1e300}`,
	} {
		f.Add([]byte(seed))
	}
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, raw []byte) {
		item, reason := decodeHit(raw, "technology", at)
		if reason == "" && (item.ID == "" || strings.TrimSpace(item.Title) == "" || plaintext.Check(item.Title, false) != "") {
			t.Errorf("hit %q: got %+v", raw, item)
		}
	})
}
