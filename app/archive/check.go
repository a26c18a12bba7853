package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"
)

// Problem is a fault in a file of an archive.
type Problem struct {
	File   string `json:"file"` // as returned by Path
	Reason string `json:"reason"`
}

func (p Problem) Error() string { return p.File + ": " + p.Reason }

// Findings is the result of Check.
type Findings struct {
	// Problems are the files that don't match the manifest.
	Problems []Problem
	// Notes are not faults of the files, but a reader should know them. Examples are a segment that
	// was damaged before it was sealed, and a clock that was set back.
	Notes []Problem
	// Missing are files of a source that the storage lacks. A release leaves them out if it may not redistribute them.
	Missing []Missing
	// Redactions are the records whose texts were erased.
	Redactions []Redaction
	Rows       int64 // of all files
	Bytes      int64
	Hash       string // of the manifest, "" if it can't be read
}

// Missing is a file that the storage lacks.
type Missing struct {
	Problem
	Source string
}

// Check reads the whole day back. It compares sizes, hashes and row counts with the manifest, and
// each text with the hash in its row. It returns faults of the day as findings. An error means that
// the storage couldn't be read.
func (d *Day) Check(ctx context.Context) (*Findings, error) {
	c := checker{Day: d, sound: map[string]bool{}}
	for _, f := range d.Manifest.Files {
		if err := c.file(ctx, f); err != nil {
			return nil, err
		}
	}
	for _, u := range d.Manifest.Unreadable {
		c.note(u.Name, "%d rows of %s were damaged before they were sealed: %s", u.Rows, u.Table, u.Reason)
	}
	if err := c.texts(ctx); err != nil {
		return nil, err
	}
	return &c.Findings, nil
}

type checker struct {
	*Day
	Findings
	sound map[string]bool // the files that match the manifest
}

func (c *checker) problem(name, format string, args ...any) {
	c.Problems = append(c.Problems, Problem{Path(c.Manifest.Day, name), fmt.Sprintf(format, args...)})
}

// missing reports a file that the storage lacks. Exported tables have no source, and no release leaves them out.
func (c *checker) missing(f File, name, reason string) {
	if f.Source == "" {
		c.problem(name, "%s", reason)
		return
	}
	c.Missing = append(c.Missing, Missing{Problem{Path(c.Manifest.Day, name), reason}, f.Source})
}

func (c *checker) note(name, format string, args ...any) {
	c.Notes = append(c.Notes, Problem{Path(c.Manifest.Day, name), fmt.Sprintf(format, args...)})
}

// file compares a file with the manifest.
func (c *checker) file(ctx context.Context, f File) error {
	got, err := readState(ctx, c.storage, Path(c.Manifest.Day, f.Name))
	switch {
	case errors.Is(err, ErrNotExist):
		c.missing(f, f.Name, "the manifest names it, but it is missing")
		return nil
	case err != nil && !errors.As(err, &damage{}):
		return err
	case got.Bytes != f.Bytes:
		c.problem(f.Name, "it has %d bytes instead of %d", got.Bytes, f.Bytes)
	case got.SHA256 != f.SHA256:
		c.problem(f.Name, "its SHA-256 is %s instead of %s", got.SHA256, f.SHA256)
	case err != nil:
		c.problem(f.Name, "%v", err)
	case got.Rows != f.Rows:
		c.problem(f.Name, "it has %d rows instead of %d", got.Rows, f.Rows)
	default:
		c.sound[f.Name] = true
	}
	c.Rows, c.Bytes = c.Rows+got.Rows, c.Bytes+got.Bytes
	return c.clock(f)
}

// clock notes observations outside the day.
func (c *checker) clock(f File) error {
	from, to, err := Bounds(c.Manifest.Day)
	if err != nil || f.First.IsZero() {
		return err
	}
	if f.First.Before(from) {
		c.note(f.Name, "its first observation is of %s, before this day: it was stored late, or the clock was set back", f.First.Format(time.RFC3339))
	}
	if !f.Last.Before(to) {
		c.note(f.Name, "its last observation is of %s, after this day: the clock was set back", f.Last.Format(time.RFC3339))
	}
	return nil
}

// damage is the error of a file that isn't a readable Parquet file.
type damage struct{ error }

// readState reads a whole Parquet file and returns its rows, size and hash.
func readState(ctx context.Context, s Storage, name string) (state TextsState, err error) {
	o, err := s.Open(ctx, name)
	if err != nil {
		return state, fmt.Errorf("%s: %w", name, err)
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	hash := sha256.New()
	state.Bytes, err = io.Copy(hash, io.NewSectionReader(o, 0, o.Size()))
	if err != nil {
		return state, fmt.Errorf("%s: %w", name, err)
	}
	state.SHA256 = hex.EncodeToString(hash.Sum(nil))
	file, err := openParquet(o, o.Size())
	if err != nil {
		return state, damage{fmt.Errorf("it is not a Parquet file: %w", err)}
	}
	state.Rows = file.NumRows()
	return state, nil
}

// texts compares the text files with texts.json and with the hashes in the rows.
func (c *checker) texts(ctx context.Context) error {
	var states []TextsState
	if ok, err := c.json(ctx, TextsName, &states); !ok {
		return err
	}
	if ok, err := c.json(ctx, RedactionsName, &c.Redactions); !ok {
		return err
	}
	for _, f := range c.Manifest.Files {
		if !slices.Contains(withTexts, f.Table) {
			continue
		}
		if err := c.textsOf(ctx, f, states); err != nil {
			return err
		}
	}
	return nil
}

// json reads one of the day's JSON files. It returns false after a problem or an error.
func (c *checker) json(ctx context.Context, name string, into any) (bool, error) {
	content, err := ReadObject(ctx, c.storage, Path(c.Manifest.Day, name))
	if errors.Is(err, ErrNotExist) {
		c.problem(name, "it is missing")
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(content, into); err != nil {
		c.problem(name, "it is damaged: %v", err)
		return false, nil
	}
	return true, nil
}

// textsOf checks the texts of the rows of a file.
func (c *checker) textsOf(ctx context.Context, f File, states []TextsState) error {
	name := "texts/" + f.Name
	i := slices.IndexFunc(states, func(s TextsState) bool { return s.Name == name })
	listed := i >= 0 && states[i].Rows > 0 // otherwise the file had no texts, or all are erased
	got, err := readState(ctx, c.storage, Path(c.Manifest.Day, name))
	switch {
	case errors.Is(err, ErrNotExist) && !listed:
		return c.rowsOf(ctx, f, nil, false)
	case errors.Is(err, ErrNotExist):
		c.missing(f, name, TextsName+" names it, but it is missing")
		return nil
	case err != nil && !errors.As(err, &damage{}):
		return err
	case listed && got.SHA256 != states[i].SHA256:
		c.problem(name, "its SHA-256 is %s, but %s lists %s", got.SHA256, TextsName, states[i].SHA256)
		return nil
	case err != nil:
		c.problem(name, "%v", err)
		return nil
	}
	texts := map[string]bool{}
	read := func(row TextRow, err error) bool {
		if err != nil {
			c.problem(name, "%v", err)
			return false
		}
		texts[textKey(row.Record, TextHash(row.Salt, row.Content))] = false
		return true
	}
	if !readFile(ctx, c.storage, Path(c.Manifest.Day, name), read) {
		return ctx.Err()
	}
	return c.rowsOf(ctx, f, texts, listed)
}

func textKey(record string, hash []byte) string { return record + "\x00" + string(hash) }

// rowsOf looks for rows of a file whose texts are missing and not redacted, and for texts that belong to no row. It
// marks the texts that belong to a row. The texts of a file that texts.json doesn't list count as missing.
func (c *checker) rowsOf(ctx context.Context, f File, texts map[string]bool, listed bool) error {
	redacted := map[string]bool{}
	for _, r := range c.Redactions {
		if r.Table == f.Table {
			redacted[r.Record] = true
		}
	}
	missing, first := 0, ""
	for record, hash := range textHashes(ctx, c.storage, f.Table, Path(c.Manifest.Day, f.Name)) {
		if len(hash) == 0 {
			continue
		}
		key := textKey(record, hash)
		_, here := texts[key]
		if here {
			texts[key] = true
		}
		if redacted[record] || here && listed {
			continue
		}
		if missing++; first == "" {
			first = record
		}
	}
	if missing > 0 {
		c.problem("texts/"+f.Name, "the texts of %d rows are missing and not redacted; the first is of record %q", missing, first)
	}
	if c.sound[f.Name] {
		c.stray("texts/"+f.Name, texts)
	}
	return ctx.Err()
}

// stray reports the texts that weren't marked. No manifest vouches for them.
func (c *checker) stray(name string, texts map[string]bool) {
	n, first := 0, ""
	for key, belongs := range texts {
		record, _, _ := strings.Cut(key, "\x00")
		if belongs {
			continue
		}
		if n++; n == 1 || record < first {
			first = record
		}
	}
	if n > 0 {
		c.problem(name, "%d texts belong to no row; the first is of record %q", n, first)
	}
}

// withTexts are the tables whose rows have texts.
var withTexts = []string{News, Predictions, Agents}

// textHashes yields the record and text hash of each row that can be read.
func textHashes(ctx context.Context, s Storage, table, name string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		switch table {
		case News:
			readFile(ctx, s, name, func(r NewsRow, err error) bool { return err == nil && yield(r.Item, r.Texts) })
		case Predictions:
			readFile(ctx, s, name, func(r PredictionRow, err error) bool { return err == nil && yield(r.ID, r.Texts) })
		case Agents:
			readFile(ctx, s, name, func(r AgentRow, err error) bool { return err == nil && yield(r.ID, r.Texts) })
		}
	}
}
