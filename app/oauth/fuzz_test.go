package oauth

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// FuzzRedirect checks that an accepted address can't run code in a browser, and uses plain HTTP only for
// loopback hosts.
func FuzzRedirect(f *testing.F) {
	for _, seed := range []string{
		"https://app.example/cb", "http://127.0.0.1:1/cb", "http://localhost/cb", "myapp://cb", "javascript:alert(1)", "data:text/html,x", "https://u@x/", "https://x/#a",
		"http://[::1]/", "HTTPS://X", "http://127.0.0.1.evil.example/", "http:127.0.0.1", "https:/x", "com.example.app:/cb",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if checkRedirect(address) != "" {
			return
		}
		u, err := url.Parse(address)
		if err != nil || u.User != nil || u.Fragment != "" {
			t.Fatalf("%q is accepted", address)
		}
		switch u.Scheme {
		case "javascript", "data", "vbscript", "file", "blob", "about":
			t.Errorf("%q is accepted", address)
		case "http":
			if !loopback(u.Hostname()) {
				t.Errorf("%q is accepted", address)
			}
		}
	})
}

// FuzzDocumentID checks that an accepted id is an https address with a path.
func FuzzDocumentID(f *testing.F) {
	for _, seed := range []string{"https://app.example/client.json", "https://app.example/", "https://x/../y", "https://x/a#b", "http://x/a", "https://ü/a", "https://x/%2e%2e/a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if checkDocumentID(id) == "" && !strings.HasPrefix(strings.ToLower(id), "https://") {
			t.Errorf("%q is accepted", id)
		}
	})
}

// FuzzMetadata checks that a client's metadata is refused, or names addresses that were checked.
func FuzzMetadata(f *testing.F) {
	for _, seed := range []string{
		`{"client_name":"App","redirect_uris":["https://app.example/cb"]}`, `{"redirect_uris":["http://127.0.0.1/"],"client_uri":"javascript:x"}`, `{}`,
		`{"redirect_uris":["https://x/"],"client_name":"\u202e"}`, `{"redirect_uris":["https://x/"],"grant_types":["implicit"]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var m metadata
		if json.Unmarshal(body, &m) != nil {
			return
		}
		c, refusal := m.client("https://app.example/client.json")
		if refusal != nil {
			return
		}
		if c.Name == "" || len(c.RedirectURIs) == 0 || (c.Homepage != "" && !strings.HasPrefix(strings.ToLower(c.Homepage), "http")) {
			t.Errorf("%q gives %+v", body, c)
		}
		for _, address := range c.RedirectURIs {
			c.allows(address)
		}
		c.Host()
	})
}
