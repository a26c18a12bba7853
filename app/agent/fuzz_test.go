package agent

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/pulsecast/pulsecast/app/plaintext"
)

// FuzzHandleFrom checks that HandleFrom returns a valid handle for every name.
func FuzzHandleFrom(f *testing.F) {
	for _, seed := range []string{"Ada Lovelace", "Ж", "---", "ﬁ", "北京", "\xff", "İ", "a", strings.Repeat("щ", 100), "ǅ", "e\u0301"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		handle := HandleFrom(name)
		if !ValidHandle(handle) {
			t.Errorf("%q asks for %q", name, handle)
		}
		if second := numbered(handle, 12345); !ValidHandle(second) {
			t.Errorf("%q asks for %q", name, second)
		}
	})
}

// FuzzNames checks that an accepted name has no invisible characters, has each word in one script,
// and doesn't look like the name of the service or its staff.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{
		"Ada Lovelace", "Pulsecast", "Рulsecast Official", "ⓟⓤⓛⓢⓔⓒⓐⓢⓣ", "🅿ulsecast", "Mar\u200bket", "ad\u0456min", "北京 Bot", "🤖 Robot 🇳🇴", "\xff", "ſtaff", "A\u0301\u0301", "",
	} {
		f.Add(seed)
	}
	var names *Names
	f.Fuzz(func(t *testing.T, name string) {
		for _, key := range append(nameKeys(name), nameKey(name)) {
			if strings.ContainsFunc(key, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) }) {
				t.Errorf("%q has the key %q", name, key)
			}
		}
		if message := checkSpelling(name); message != "" {
			return
		}
		if strings.ContainsFunc(name, plaintext.Invisible) {
			t.Errorf("%q has an invisible character", name)
		}
		if strings.Contains(strings.ToLower(name), "pulsecast") && !names.keepsBack(name) {
			t.Errorf("%q looks like the service", name)
		}
		for _, word := range words(name) {
			if slices.Contains(offices, strings.ToLower(word)) && !names.keepsBack(name) {
				t.Errorf("%q looks like staff", name)
			}
		}
	})
}

// FuzzCredential checks that only texts in the form of an issued credential are taken for one.
func FuzzCredential(f *testing.F) {
	key, _ := newKey()
	for _, seed := range []string{key, newToken(), "", "pc_", "ps_", key[1:], key + "x", strings.ToUpper(key), strings.Repeat("pc_", 100)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, ok := keyID(s); ok && (len(id) != idLength || !strings.HasPrefix(s, keyPrefix+id+"_") || validToken(s)) {
			t.Errorf("%q is a key with the id %q", s, id)
		}
		if validToken(s) && validAccessToken(s) {
			t.Errorf("%q is a token of two kinds", s)
		}
		Hash(s)
	})
}

// FuzzHomepage checks that only http and https addresses are accepted.
func FuzzHomepage(f *testing.F) {
	for _, seed := range []string{"https://example.org/a", "javascript:alert(1)", "http://u:p@x", "HTTP://x", "http://", "//x", "https://x\x00", "https://[::1", "http:\\\\x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if s != "" && checkHomepage(s) == "" && !strings.HasPrefix(strings.ToLower(s), "http://") && !strings.HasPrefix(strings.ToLower(s), "https://") {
			t.Errorf("%q is accepted", s)
		}
	})
}
