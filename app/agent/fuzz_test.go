package agent

import (
	"strings"
	"testing"
)

// FuzzHandleFrom: every name asks for a valid handle.
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

// FuzzCredential: only what was issued has the form of a credential.
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

// FuzzHomepage: an address that is accepted is http or https.
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
