package archive

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// TestDamagedParquet checks that files are refused for which the library would allocate gigabytes.
func TestDamagedParquet(t *testing.T) {
	t.Parallel()
	whole, err := EncodeRows([]fuzzRow{{Market: "a"}, {Market: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := DecodeRows[fuzzRow](whole); err != nil || len(rows) != 2 || rows[1].Market != "b" {
		t.Fatalf("an undamaged file: got %v, %v", rows, err)
	}
	var other bytes.Buffer
	if err := parquet.Write(&other, []fuzzRow{{Market: "a"}}, parquet.Compression(&parquet.Lz4Raw)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"a longer footer than the file": {longFooter(whole), "and names a footer of 4026531840"},
		"only an end":                   {[]byte("PAR1"), "it has 4 bytes"},
		"another codec":                 {other.Bytes(), "a column is compressed by LZ4_RAW"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if rows, err := DecodeRows[fuzzRow](c.content); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, %v; want an error with %q", rows, err, c.want)
			}
		})
	}
}

// longFooter returns a Parquet file whose end names a footer of 3.75 GiB.
func longFooter(file []byte) []byte {
	return slices.Concat(file[:len(file)-8], []byte{0, 0, 0, 0xf0}, []byte("PAR1"))
}
