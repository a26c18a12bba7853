package release

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// answering is a server that answers every request with the same body.
type answering []byte

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(a)), Request: r}, nil
}

// FuzzRemote checks that the list of days of another installation is refused or read, and that files with any
// listed name are refused or stored within the folder of the release.
func FuzzRemote(f *testing.F) {
	for _, seed := range []string{
		`{"ok":true,"days":[{"day":"2026-11-21","files":[{"name":"manifest.json","bytes":2,"published":true},{"name":"texts/news.parquet","published":true}]}],"nextCursor":null}`,
		`{"ok":true,"days":[{"day":"..","files":[{"name":"../../x","published":true},{"name":"/etc/x","published":true},{"name":"","published":true}]}]}`,
		`{"ok":true,"days":[{"day":"a\u0000","files":[{"name":"b","bytes":-1,"sha256":"00","published":true}]}]}`,
		`{"ok":true,"days":null,"nextCursor":"a"}`, `{"ok":false}`, `{"ok":true,"days":[{"files":[null]}]}`, `[]`, ``, "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		outside := t.TempDir()
		r := &Remote{
			base: "http://example.org", client: &http.Client{Transport: answering(body)},
			dir: filepath.Join(outside, "release"), files: map[string]*download{},
		}
		if r.list(t.Context()) != nil {
			return
		}
		infos, err := r.List(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range infos[:min(len(infos), 20)] {
			object, err := r.Open(t.Context(), info.Name)
			if err != nil {
				continue
			}
			if err := object.Close(); err != nil {
				t.Error(err)
			}
		}
		entries, err := os.ReadDir(outside)
		if err != nil || len(entries) > 1 || (len(entries) == 1 && entries[0].Name() != "release") {
			t.Errorf("%q: beside the folder of the release lie %v, %v", body, entries, err)
		}
	})
}
