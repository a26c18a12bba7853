package prediction

import (
	"net/url"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// FuzzEvidence checks that an accepted address is absolute, has the scheme http or https, and names no user.
func FuzzEvidence(f *testing.F) {
	for _, seed := range []string{"https://example.org/a", "http://u@x/", "javascript:x", "https://", "//x", "https://x\x00/", "https://\u202ex/", "http://[::1", "https://x:y/", "HTTPS://X"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		var c checker
		c.address("url", address)
		if len(c.fields) > 0 {
			return
		}
		u, err := url.Parse(address)
		if err != nil || u.Hostname() == "" || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") {
			t.Errorf("%q was accepted", address)
		}
	})
}

// FuzzWords checks that the words of any text are short and listed once, and that no word has the key of a span.
func FuzzWords(f *testing.F) {
	for _, seed := range []string{"Will it rain?", "ǅ İ ß", "\xff\x00", strings.Repeat("x", 1000), "a-b_c 1.5"} {
		f.Add(seed, seed)
	}
	db := dbtest.Open(f, database.SQLite)
	f.Fuzz(func(t *testing.T, title, thesis string) {
		seen := map[string]bool{}
		for _, word := range strings.Fields(termsOf(db, title, thesis).words) {
			if len(word) > maxWord || seen[word] {
				t.Errorf("title %q and thesis %q give the word %q", title, thesis, word)
			}
			seen[word] = true
			if key := wordKeys([]string{word})[0]; key >= 0 {
				t.Errorf("the word %q has the key of a span, %d", word, key)
			}
		}
	})
}
