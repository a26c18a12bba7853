package client

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cenkalti/backoff/v5"
)

// FuzzRefusal checks that any refusal has a code and reads as one line.
func FuzzRefusal(f *testing.F) {
	f.Add([]byte(`{"code":"not_found","detail":"No.","requestId":"1"}`), "1", "")
	f.Add([]byte(`<html>`), "-1", "https://x")
	f.Add([]byte(`null`), "1e9", "\x00")
	f.Fuzz(func(t *testing.T, body []byte, after, location string) {
		r := newRefusal(&http.Response{StatusCode: 404, Header: http.Header{"Retry-After": {after}, "Location": {location}}}, body)
		if r.Code == "" || r.Error() == "" || r.RetryAfter < 0 {
			t.Errorf("%q is %+v", body, r)
		}
	})
}

// FuzzStream checks that the reader of a stream returns for any input, with or without an error.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{"id: 1\nevent: a\ndata: {}\n\n", ": sign of life\n\n", "data\n\ndata: x", "\xff\n\n", "id: \x00\n\n", "retry: 99999999999999999999\n\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		w := &watch{client: &Client{}, pauses: backoff.NewExponentialBackOff(), each: func(Streamed) error { return nil }}
		_ = w.read(strings.NewReader(body))
	})
}
