package gdelt

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/plaintext"
)

// FuzzDecodeArticle checks that an article is either dropped with a reason or gives a valid item.
func FuzzDecodeArticle(f *testing.F) {
	for _, seed := range []string{
		`{"url":"https://x.org/a","title":"T","seendate":"20261121T110000Z","socialimage":"","domain":"x.org"}`, `{}`, `null`, `[]`,
		`{"url":"javascript:x","title":"\u202e"}`, `{"url":1,"title":" ,","seendate":"00000000T000000Z"}`,
	} {
		f.Add([]byte(seed))
	}
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, raw []byte) {
		item, reason := decodeArticle(raw, "technology", at)
		if reason == "" && (!strings.HasPrefix(item.ID, "gdelt-") || strings.TrimSpace(item.Title) == "" || plaintext.Check(item.Title, false) != "") {
			t.Errorf("article %q: got %+v", raw, item)
		}
	})
}

// FuzzMendEscapes checks that valid JSON isn't changed.
func FuzzMendEscapes(f *testing.F) {
	for _, seed := range []string{`{"a":"b\"\\\u00e9\n"}`, `"\d"`, `\`, `"\u12"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := mendEscapes(raw)
		if json.Valid(raw) && string(got) != string(raw) {
			t.Errorf("%q was changed to %q", raw, got)
		}
	})
}
