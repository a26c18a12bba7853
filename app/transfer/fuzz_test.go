package transfer

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzJSON checks that differences that an engine may introduce into a document, such as spaces,
// don't change its checksum.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{"b":1.0,"a":[1e2,null,true]}`, `"\u0000é"`, `1e999999999`, `-0`, `{"a":1,"a":2}`, `[] []`, "", "\xff", `0.1e-2`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, err := decodeJSON(text)
		if err != nil {
			return
		}
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, []byte(text), " ", "\t"); err != nil {
			t.Fatal(err)
		}
		again, err := decodeJSON(spaced.String())
		if err != nil || !bytes.Equal(appendJSON(nil, value), appendJSON(nil, again)) {
			t.Errorf("%q and %q differ: %v", text, spaced.String(), err)
		}
	})
}
