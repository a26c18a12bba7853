package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"time"
)

// Schema is the version of the layout and of the columns. A reader refuses a higher version.
const Schema = 1

// Manifest describes a sealed day and never changes. The hash of a day is the SHA-256 of its
// manifest as written.
type Manifest struct {
	Schema   int       `json:"schema"`
	Day      string    `json:"day"`      // in UTC, such as 2026-11-21
	Previous string    `json:"previous"` // hash of the day before, in hex; "" for the first day
	First    time.Time `json:"first"`    // first and last observation; zero without observations
	Last     time.Time `json:"last"`
	Files    []File    `json:"files"` // in the order of Tables, then by source
	Texts    []Texts   `json:"texts"`
	// AbandonedFrom is a day, or "". The days from AbandonedFrom up to the day before this one are abandoned: they
	// were sealed after the backup from which the database was restored. Their observations count, but their
	// decisions, the rows of exported tables, don't. This day holds those decisions that the backup has.
	AbandonedFrom string `json:"abandonedFrom,omitempty"`
	// Unreadable are segments that were damaged before they were sealed.
	Unreadable []Unreadable `json:"unreadable,omitempty"`
}

// Unreadable is a segment that could not be decoded. Its file holds the segment's bytes.
type Unreadable struct {
	Table  string `json:"table"`
	Source string `json:"source"`
	Name   string `json:"name"`
	Rows   int64  `json:"rows"`
	SHA256 string `json:"sha256"` // in hex
	Reason string `json:"reason"`
}

// File is one Parquet file of a day.
type File struct {
	Table  string    `json:"table"`
	Source string    `json:"source,omitempty"` // of the observations; "" for exported tables
	Name   string    `json:"name"`             // relative to the day: "prices-polymarket.parquet"
	Rows   int64     `json:"rows"`
	Bytes  int64     `json:"bytes"`
	SHA256 string    `json:"sha256"` // in hex
	First  time.Time `json:"first"`  // first and last observation; zero for exported tables
	Last   time.Time `json:"last"`
}

// Texts is one text file. It has no hash, because an erasure rewrites the file.
type Texts struct {
	Table  string `json:"table"`
	Source string `json:"source,omitempty"`
	Name   string `json:"name"` // "texts/news-hackernews.parquet"
	Rows   int64  `json:"rows"` // at the time of sealing
}

// Redaction records that the texts of a record were erased from a day.
type Redaction struct {
	Table  string    `json:"table"`
	Record string    `json:"record"`
	Reason string    `json:"reason"` // "closed" (account), "deleted" (by the source), "ordered" (by a court) or "hidden" (by an admin)
	At     time.Time `json:"at"`
}

// same reports whether both redactions are of the same record.
func (r Redaction) same(other Redaction) bool {
	return r.Table == other.Table && r.Record == other.Record
}

// Path returns the path of a day's file in an archive.
func Path(day, name string) string { return "days/" + day + "/" + name }

// The files of a day that aren't Parquet files.
const (
	ManifestName   = "manifest.json"
	TextsName      = "texts.json"
	RedactionsName = "redactions.json"
)

// Encode returns the manifest as it is stored.
func (m *Manifest) Encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(m); err != nil {
		return nil, fmt.Errorf("encode the manifest of %s: %w", m.Day, err)
	}
	return b.Bytes(), nil
}

// ReadManifest decodes and checks the manifest of a day. Its error is a Problem.
func ReadManifest(day string, content []byte) (*Manifest, error) {
	var m Manifest
	bad := func(format string, args ...any) error {
		return Problem{Path(day, ManifestName), fmt.Sprintf(format, args...)}
	}
	if err := json.Unmarshal(content, &m); err != nil {
		return nil, bad("not a manifest: %v", err)
	}
	switch {
	case m.Schema < 1 || m.Schema > Schema:
		return nil, bad("its schema is %d, but this program reads only up to %d", m.Schema, Schema)
	case m.Day != day:
		return nil, bad("it is the manifest of %q", m.Day)
	case !m.abandonsEarlier():
		return nil, bad("its abandonedFrom is %.80q, which isn't an earlier day", m.AbandonedFrom)
	}
	if name, ok := m.strayName(); ok {
		return nil, bad("it names %.80q, which isn't a file of this day", name)
	}
	return &m, nil
}

// abandonsEarlier reports whether AbandonedFrom is "" or an earlier day.
func (m *Manifest) abandonsEarlier() bool {
	if m.AbandonedFrom == "" {
		return true
	}
	_, _, err := Bounds(m.AbandonedFrom)
	return err == nil && m.AbandonedFrom < m.Day
}

// strayName returns a file name that would lead outside the folder of the day, if there is one.
func (m *Manifest) strayName() (name string, found bool) {
	var names []string
	for _, f := range m.Files {
		names = append(names, f.Name)
	}
	for _, f := range m.Texts {
		names = append(names, f.Name)
	}
	for _, f := range m.Unreadable {
		names = append(names, f.Name)
	}
	i := slices.IndexFunc(names, func(name string) bool { return !fs.ValidPath(name) || name == "." })
	if i < 0 {
		return "", false
	}
	return names[i], true
}

// Of returns the files of a table.
func (m *Manifest) Of(table string) []File {
	return slices.DeleteFunc(slices.Clone(m.Files), func(f File) bool { return f.Table != table })
}

// Hash returns the SHA-256 of content, in hex.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// TextHash returns the hash of a text, as a row carries it.
func TextHash(salt, content []byte) []byte {
	sum := sha256.Sum256(slices.Concat(salt, content))
	return sum[:]
}
