package release

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpenWrongAddress checks that a wrong address is refused before anything is read from it.
func TestOpenWrongAddress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		filepath.Join(dir, "typo"):             "there is no folder " + filepath.Join(dir, "typo"),
		"file://" + filepath.Join(dir, "typo"): "there is no folder " + filepath.Join(dir, "typo"),
		file:                                   "there is no folder " + file,
		"off":                                  "there is no folder off",
		"ftp://pulsecast.example":              `"ftp://pulsecast.example" is not the address of an archive`,
		"s3://":                                `"s3://" is not the address of an archive`,
		"https://":                             `"https://" is not the http(s) address of an installation`,
	} {
		if _, _, err := Open(t.Context(), address); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s…", address, err, want)
		}
	}
}
