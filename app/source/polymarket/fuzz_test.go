package polymarket

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzDecodePage checks that a page is either refused or holds JSON records.
func FuzzDecodePage(f *testing.F) {
	for _, seed := range []string{`{"markets":[{"id":"1"}],"next_cursor":"LTE="}`, `[{"id":1},2,null]`, `{"events":[]}`, `{}`, `null`, `{"markets":{}}`, `[`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := decodePage(raw, "markets")
		if err != nil {
			return
		}
		for _, r := range p.records {
			if !json.Valid(r) {
				t.Errorf("page %q: got the record %q", raw, r)
			}
		}
	})
}

// FuzzTags checks that any JSON gives valid slugs or none.
func FuzzTags(f *testing.F) {
	for _, seed := range []string{`[{"slug":"politics","label":"Politics"}]`, `["a",1,null]`, `"a"`, `"[{\"slug\":\"x\"}]"`, `{}`, `[[[]]]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var tags wireTags
		if json.Unmarshal(raw, &tags) == nil {
			for _, slug := range tags.slugs() {
				if slug == "" || !utf8.ValidString(slug) {
					t.Errorf("%q: got the tag %q", raw, slug)
				}
			}
		}
	})
}

// FuzzTitle checks that any question, event and label give a title on one line.
func FuzzTitle(f *testing.F) {
	f.Add("Will ___ win?", "Who wins?", "Ada")
	f.Add("", "", "")
	f.Add("x ___ y ___", "___", "___")
	f.Add("…?", "By...?", "December 31")
	f.Add("\xd1", "", "\x80") // valid only together
	f.Fuzz(func(t *testing.T, question, event, label string) {
		if !utf8.ValidString(question) || !utf8.ValidString(event) || !utf8.ValidString(label) {
			return
		}
		if got := title(question, event, label); !utf8.ValidString(got) || len(got) > len(question)+len(event)+len(label)+100 {
			t.Errorf("title(%q, %q, %q) = %q", question, event, label, got)
		}
		eventTitle(event)
		_ = strings.Join(heavy(question), " ")
	})
}
