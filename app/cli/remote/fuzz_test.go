package remote

import (
	"encoding/json"
	"testing"
)

// FuzzFromFile checks that a file is refused, or sent as JSON if it is JSON.
func FuzzFromFile(f *testing.F) {
	for _, seed := range []string{`{"title":"t"}`, `[{"title":"t"}]`, `{"predictions":[]}`, `[`, ``, " \n", `null`, "\xef\xbb\xbf{}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		body, _, err := fromFile(content)
		if err == nil && json.Valid(content) && !json.Valid(body) {
			t.Errorf("%q is sent as %q", content, body)
		}
	})
}
