package lenientjson

import (
	"encoding/json"
	"math"
	"testing"
)

// FuzzUnmarshal checks that no JSON makes a lenient type fail, and that a known number is finite.
func FuzzUnmarshal(f *testing.F) {
	for _, seed := range []string{`1`, `"1.5"`, `"NaN"`, `"0x1p4"`, `1e400`, `null`, `[]`, `"[\"Yes\", \"No\"]"`, `["a",1]`, `{}`, `"2026-11-22T00:00:00Z"`, `"2026-11-22 00:00:00+00"`, `true`, `"tRuE"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		var all struct {
			Number Number
			Text   Text
			List   List
			Flag   Flag
		}
		for name, into := range map[string]any{"number": &all.Number, "text": &all.Text, "list": &all.List, "flag": &all.Flag} {
			if err := json.Unmarshal(raw, into); err != nil {
				t.Errorf("%s from %q: got %v", name, raw, err)
			}
		}
		if n := all.Number; n.Known && (math.IsInf(n.Value, 0) || math.IsNaN(n.Value)) {
			t.Errorf("%q: got the number %v", raw, n.Value)
		}
	})
}

// FuzzParseTime checks that a time is in UTC or unknown.
func FuzzParseTime(f *testing.F) {
	for _, seed := range []string{"2026-11-22T00:00:00Z", "2026-11-22 00:00:00+00", "2026-11-22", "1700000000", "", "0000-00-00", "99999-01-01T00:00:00Z", "2026-11-22T00:00:00+25:00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if at := ParseTime(s); !at.IsZero() && at.UTC() != at {
			t.Errorf("%q: got %s", s, at)
		}
	})
}
