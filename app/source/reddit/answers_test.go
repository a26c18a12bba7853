package reddit

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/source/fetch"
)

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// FuzzPosts checks that a response about tokens or posts is refused or names posts by their ids.
func FuzzPosts(f *testing.F) {
	const token = `{"access_token":"t","token_type":"bearer","expires_in":3600}`
	for _, seed := range [][2]string{
		{token, `{"data":{"children":[{"data":{"id":"a","author":"x"}},{"data":{"id":"b","author":"[deleted]"}}]}}`}, {token, `{"data":{"children":null}}`},
		{`{"error":"invalid_grant"}`, `{}`}, {`{"access_token":1,"expires_in":"never"}`, ``}, {`[`, "\xff"}, {token, `{"data":{"children":[1,null,{"data":{"id":{}}}]}}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, token, listing []byte) {
		c := NewOAuth(OAuthConfig{
			ClientID: "id", ClientSecret: "secret", UserAgent: "test", Logger: slog.New(slog.DiscardHandler),
			Fetch: fetch.New(fetch.Options{Tries: 1, Transport: transport(func(r *http.Request) (*http.Response, error) {
				body := listing
				if strings.HasSuffix(r.URL.Path, "/access_token") {
					body = token
				}
				return &http.Response{
					StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r,
				}, nil
			})}),
		})
		there, deleted, err := c.Posts(context.Background(), []string{"a", "b"})
		if err != nil && (there != nil || deleted != nil) {
			t.Errorf("%q and an error: %v", listing, err)
		}
		if slices.Contains(slices.Concat(there, deleted), "") {
			t.Errorf("%q names a post without an id", listing)
		}
	})
}
