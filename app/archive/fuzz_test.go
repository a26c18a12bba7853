package archive

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"
)

const fuzzDay = "2026-11-21"

// FuzzManifest checks that a manifest is either refused with a Problem, or names only files inside
// its day and stays the same when it is written and read again.
func FuzzManifest(f *testing.F) {
	m := Manifest{
		Schema: Schema, Day: fuzzDay, First: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), Last: time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC),
		Files: []File{{Table: "prices", Source: "polymarket", Name: "prices-polymarket.parquet", Rows: 1, Bytes: 2, SHA256: "00"}},
		Texts: []Texts{{Table: "news", Name: "texts/news.parquet", Rows: 1}}, AbandonedFrom: "2026-11-19",
	}
	written, err := m.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(written)
	for _, change := range [][2]string{{"texts/", "../"}, {"texts/", "/"}, {fuzzDay, "2026-11-22"}, {`"schema": 1`, `"schema": 99`}, {"prices-polymarket.parquet", "."}, {"2026-11-19", "2026-11-21"}} {
		f.Add([]byte(strings.Replace(string(written), change[0], change[1], 1)))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		m, err := ReadManifest(fuzzDay, content)
		if err != nil {
			if _, ok := errors.AsType[Problem](err); !ok {
				t.Errorf("%q: %v", content, err)
			}
			return
		}
		for _, file := range m.Files {
			if !fs.ValidPath(file.Name) {
				t.Errorf("%q names %q", content, file.Name)
			}
		}
		once, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ReadManifest(fuzzDay, once)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := again.Encode(); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%q becomes %q, then %q: %v", content, once, twice, err)
		}
	})
}

// fuzzRow is a row of a segment.
type fuzzRow struct {
	Market string    `json:"market" parquet:"market"`
	Price  *float64  `json:"price" parquet:"price,optional"`
	At     time.Time `json:"at" parquet:"at"`
}

// FuzzSegment checks that a segment is either refused or has the expected number of rows.
func FuzzSegment(f *testing.F) {
	whole, err := encodeSegment([]fuzzRow{{Market: "a"}, {Market: "b"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, int64(2))
	f.Add(whole, int64(3))
	f.Add(whole[:len(whole)-1], int64(2))
	f.Add([]byte{}, int64(-1))
	f.Add([]byte{}, int64(1<<62))
	f.Fuzz(func(t *testing.T, content []byte, records int64) {
		if rows, err := decodeSegment[fuzzRow](content, records); err == nil && int64(len(rows)) != records {
			t.Errorf("%d rows, want %d", len(rows), records)
		}
	})
}

// FuzzParquet checks that reading a Parquet file of any content doesn't panic.
func FuzzParquet(f *testing.F) {
	whole, err := EncodeRows([]fuzzRow{{Market: "a"}, {Market: "b"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte("PAR1PAR1"))
	f.Add(longFooter(whole))
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) > 1<<16 {
			t.Skip("files of this size are tried elsewhere")
		}
		_, _ = DecodeRows[fuzzRow](content)
	})
}

// FuzzStorage checks that only the address "off" means no archive, and that an error doesn't contain
// a password.
func FuzzStorage(f *testing.F) {
	for _, seed := range []string{"off", "file://data/archive", "file:///", "s3://bucket/prefix", "s3://user:secret@bucket", "s3://%zz", "http://x", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		s, err := OpenStorage(address)
		if err == nil && s == nil && address != Off {
			t.Errorf("%q opens nothing", address)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error contains a secret: %v", address, err)
		}
	})
}
