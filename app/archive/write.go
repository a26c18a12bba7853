package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"
)

// DayWriter writes the files of a day. It replaces files that an earlier writer left. The day is
// sealed when Finish has written its manifest, so a writer that stops before that has sealed
// nothing.
type DayWriter struct {
	storage    Writable
	manifest   Manifest
	texts      []TextsState
	redactions []Redaction
	noted      map[record]bool // the records of redactions
	// erased finds the texts that must not be written. nil means that all texts may be written.
	erased findErased
	now    func() time.Time
}

// TextsState is the current state of a text file, as in texts.json.
type TextsState struct {
	Name   string `json:"name"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// NewDayWriter returns a DayWriter for a day. previous is the hash of the day before, "" for the
// first day.
func NewDayWriter(s Writable, day, previous string) *DayWriter {
	return &DayWriter{
		storage: s, now: time.Now, redactions: []Redaction{}, noted: map[record]bool{}, texts: []TextsState{},
		manifest: Manifest{Schema: Schema, Day: day, Previous: previous, Files: []File{}, Texts: []Texts{}},
	}
}

// keepUnreadable stores the bytes of a segment that can't be decoded.
func (w *DayWriter) keepUnreadable(ctx context.Context, s *waiting, content []byte, cause error) error {
	name := "unreadable/" + s.Kind + "-" + s.ID.String()
	if err := put(ctx, w.storage, Path(w.manifest.Day, name), content); err != nil {
		return err
	}
	w.manifest.Unreadable = append(w.manifest.Unreadable, Unreadable{
		Table: s.Kind, Source: s.Source, Name: name, Rows: s.Records, SHA256: Hash(content), Reason: cause.Error(),
	})
	return nil
}

// rowGroup is the maximum number of rows in a row group. A reader of one market decodes the market
// column of whole row groups.
const rowGroup = 50_000

// WriteTable writes the file of a table and a source ("" for exported tables). It writes no file if
// there are no rows. Rows of Prices must be ordered by market, then by time.
func WriteTable[T any](ctx context.Context, w *DayWriter, table, source string, rows iter.Seq2[T, error]) error {
	f := File{Table: table, Source: source, Name: fileName(table, source)}
	counted := func(yield func(T, error) bool) {
		for row, err := range rows {
			if o, ok := any(row).(observed); ok && err == nil {
				f.extend(o.at())
			}
			if !yield(row, err) {
				return
			}
		}
	}
	s, err := putParquet(ctx, w.storage, Path(w.manifest.Day, f.Name), counted)
	if err != nil || s.Rows == 0 {
		return err
	}
	f.Rows, f.Bytes, f.SHA256 = s.Rows, s.Bytes, s.SHA256
	w.manifest.add(f)
	return nil
}

func fileName(table, source string) string {
	if source == "" {
		return table + ".parquet"
	}
	return table + "-" + source + ".parquet"
}

func (f *File) extend(at time.Time) {
	if f.First.IsZero() || at.Before(f.First) {
		f.First = at
	}
	if at.After(f.Last) {
		f.Last = at
	}
}

func (m *Manifest) add(f File) {
	m.Files = append(m.Files, f)
	if f.First.IsZero() {
		return
	}
	if m.First.IsZero() || f.First.Before(m.First) {
		m.First = f.First
	}
	if f.Last.After(m.Last) {
		m.Last = f.Last
	}
}

// WriteTexts writes the texts of a table and a source, without those to be erased.
func (w *DayWriter) WriteTexts(ctx context.Context, table, source string, rows iter.Seq2[TextRow, error]) error {
	name := "texts/" + fileName(table, source)
	s, err := putParquet(ctx, w.storage, Path(w.manifest.Day, name), w.withoutErased(ctx, table, rows))
	if err != nil || s.Rows == 0 {
		return err
	}
	s.Name = name
	w.texts = append(w.texts, s)
	w.manifest.Texts = append(w.manifest.Texts, Texts{Table: table, Source: source, Name: name, Rows: s.Rows})
	return nil
}

// Finish seals the day by writing the manifest last. If the day is sealed already, it returns
// ErrExist.
func (w *DayWriter) Finish(ctx context.Context) error {
	if err := w.removeOtherTexts(ctx); err != nil {
		return err
	}
	if err := putJSON(ctx, w.storage, Path(w.manifest.Day, TextsName), w.texts); err != nil {
		return err
	}
	if err := putJSON(ctx, w.storage, Path(w.manifest.Day, RedactionsName), w.redactions); err != nil {
		return err
	}
	content, err := w.manifest.Encode()
	if err != nil {
		return err
	}
	name := Path(w.manifest.Day, ManifestName)
	if err := w.storage.PutNew(ctx, name, bytes.NewReader(content), int64(len(content))); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// removeOtherTexts deletes the text files of an earlier attempt that this one doesn't have, because all their texts have
// been erased since. No manifest names them, so no later erasure would find them.
func (w *DayWriter) removeOtherTexts(ctx context.Context) error {
	list, err := w.storage.List(ctx, Path(w.manifest.Day, "texts/"))
	if err != nil {
		return fmt.Errorf("list the texts of %s: %w", w.manifest.Day, err)
	}
	for _, o := range list {
		if slices.ContainsFunc(w.texts, func(t TextsState) bool { return Path(w.manifest.Day, t.Name) == o.Name }) {
			continue
		}
		if err := w.storage.Delete(ctx, o.Name); err != nil {
			return err
		}
	}
	return nil
}

func readJSON(ctx context.Context, s Storage, name string, into any) error {
	content, err := ReadObject(ctx, s, name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func putJSON(ctx context.Context, s Writable, name string, v any) error {
	content, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return put(ctx, s, name, append(content, '\n'))
}

func put(ctx context.Context, s Writable, name string, content []byte) error {
	if err := s.Put(ctx, name, bytes.NewReader(content), int64(len(content))); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// putParquet writes rows to a Parquet file by way of a scratch file. It writes no file if there
// are no rows.
func putParquet[T any](
	ctx context.Context, s Writable, name string, rows iter.Seq2[T, error],
) (state TextsState, err error) {
	file, err := Scratch()
	if err != nil {
		return state, fmt.Errorf("%s: %w", name, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	hash := sha256.New()
	if state.Rows, err = writeParquet(ctx, io.MultiWriter(file, hash), rows); err != nil {
		return state, fmt.Errorf("%s: %w", name, err)
	}
	if state.Rows == 0 {
		return state, nil
	}
	if state.Bytes, err = file.Seek(0, io.SeekCurrent); err != nil {
		return state, fmt.Errorf("%s: %w", name, err)
	}
	state.SHA256 = hex.EncodeToString(hash.Sum(nil))
	if err := s.Put(ctx, name, io.NewSectionReader(file, 0, state.Bytes), state.Bytes); err != nil {
		return state, fmt.Errorf("%s: %w", name, err)
	}
	return state, nil
}

func writeParquet[T any](ctx context.Context, w io.Writer, rows iter.Seq2[T, error]) (n int64, err error) {
	p := parquet.NewGenericWriter[T](w, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(rowGroup))
	batch := make([]T, 0, readRows)
	flush := func() error {
		written, err := p.Write(batch)
		n += int64(written)
		batch = batch[:0]
		return err
	}
	for row, err := range rows {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return n, err
		}
		if batch = append(batch, row); len(batch) == cap(batch) {
			if err := flush(); err != nil {
				return n, err
			}
		}
	}
	return n, errors.Join(flush(), p.Close())
}
