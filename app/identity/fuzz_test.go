package identity

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/plaintext"
)

// FuzzClaims: the answer of a provider is refused, or names a subject that can be stored.
func FuzzClaims(f *testing.F) {
	for _, seed := range []string{
		`{"sub":"a","exp":1,"aud":["x"],"scope":"a b"}`, `{"exp":"NaN"}`, `{"aud":{}}`, `{"sub":"\u0000"}`, `{"sub":"a","exp":1e400}`, `{"client_id":"c","nbf":-1}`,
		`{"sub":"a","owner":1.5,"scp":["a",1]}`, `{"username":"u@x"}`, `{"exp":true}`,
	} {
		f.Add([]byte(seed))
	}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte) {
		var all map[string]any
		if json.Unmarshal(body, &all) != nil {
			return
		}
		c, err := claimsFrom(all, "https://id.example", "owner")
		if err != nil {
			return
		}
		if c.subject == "" || plaintext.Check(c.subject+c.owner+c.name(), false) != "" || c.expires.Year() > 9999 {
			t.Errorf("%q gives %+v", body, c)
		}
		_ = c.check("https://id.example", now)
	})
}

// FuzzIsJWT: any text is a JWT or not.
func FuzzIsJWT(f *testing.F) {
	for _, seed := range []string{"eyJhbGciOiJSUzI1NiJ9.e30.c2ln", "a.b.c", "..", "eyJ.eyJ.", "pc_x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) { isJWT(key) })
}
