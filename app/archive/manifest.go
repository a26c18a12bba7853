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

// Schema is the version of the layout and of the columns. A reader refuses a higher one.
const Schema = 1

// Manifest says what a sealed day holds. It never changes. The hash of a day is the SHA-256 of
// its manifest as written.
type Manifest struct {
	Schema   int       `json:"schema"`
	Day      string    `json:"day"`      // UTC, 2026-11-21
	Previous string    `json:"previous"` // hash of the day before, in hex; "" for the first
	First    time.Time `json:"first"`    // of all observations; zero without any
	Last     time.Time `json:"last"`
	Files    []File    `json:"files"` // in the order of Tables, then by source
	Texts    []Texts   `json:"texts"`
	// Unreadable are observations that were damaged before they were sealed.
	Unreadable []Unreadable `json:"unreadable,omitempty"`
}

// Unreadable is a segment that could not be decoded. Its file holds what there was of it.
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
	First  time.Time `json:"first"`  // of observed tables
	Last   time.Time `json:"last"`
}

// Texts is one file of texts. Its hash is not here, because erasing rewrites the file.
type Texts struct {
	Table  string `json:"table"`
	Source string `json:"source,omitempty"`
	Name   string `json:"name"` // "texts/news-hackernews.parquet"
	Rows   int64  `json:"rows"` // when the day was sealed
}

// Redaction says that the texts of a record were erased from a day.
type Redaction struct {
	Table  string    `json:"table"`
	Record string    `json:"record"`
	Reason string    `json:"reason"` // "closed" (an account), "deleted" (by the source), "ordered" (by a court), "hidden" (by an admin)
	At     time.Time `json:"at"`
}

// same reports whether both erase the same record.
func (r Redaction) same(other Redaction) bool {
	return r.Table == other.Table && r.Record == other.Record
}

// Path returns where a file of a day is in an archive.
func Path(day, name string) string { return "days/" + day + "/" + name }

// The files beside the Parquet files of a day.
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

// ReadManifest decodes the manifest of a day and checks that it is one. Its error is a Problem.
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
		return nil, bad("schema %d; this program reads up to %d", m.Schema, Schema)
	case m.Day != day:
		return nil, bad("it is the manifest of %q", m.Day)
	}
	if name, ok := m.strayName(); ok {
		return nil, bad("it names %.80q, which is no file of this day", name)
	}
	return &m, nil
}

// strayName finds a name that would lead out of the folder of the day.
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

// TextHash returns the hash of texts that a row carries.
func TextHash(salt, content []byte) []byte {
	sum := sha256.Sum256(slices.Concat(salt, content))
	return sum[:]
}
