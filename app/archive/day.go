package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

// Day is a sealed day, open for reading.
type Day struct {
	Manifest *Manifest
	Hash     string // of the manifest, in hex
	storage  Storage
}

// OpenDay reads the manifest of a day. It returns ErrNotExist for a day that isn't sealed.
func OpenDay(ctx context.Context, s Storage, day string) (*Day, error) {
	content, err := ReadObject(ctx, s, Path(day, ManifestName))
	if err != nil {
		return nil, err
	}
	m, err := ReadManifest(day, content)
	if err != nil {
		return nil, err
	}
	return &Day{m, Hash(content), s}, nil
}

// ReadObject reads a small object into memory.
func ReadObject(ctx context.Context, s Storage, name string) (content []byte, err error) {
	o, err := s.Open(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	content, err = io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return content, nil
}

// readRows is how many rows are decoded at a time.
const readRows = 1024

// Rows reads all rows of a table of the day, file by file, in the order written. T is the row type
// of the table. An error ends the iteration and names the file.
func Rows[T any](ctx context.Context, d *Day, table string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, f := range d.Manifest.Of(table) {
			if !readFile(ctx, d.storage, Path(d.Manifest.Day, f.Name), yield) {
				return
			}
		}
	}
}

// Rules returns the settings on which the baselines of the day depend, or nil if the day has none.
func (d *Day) Rules(ctx context.Context) (*RuleRow, error) {
	var rules *RuleRow
	for row, err := range Rows[RuleRow](ctx, d, Rules) {
		if err != nil {
			return nil, err
		}
		rules = &row
	}
	if rules == nil {
		return nil, nil
	}
	if !(rules.MarketsInterval >= 1 && rules.MarketsInterval <= 86400) || !(rules.MinLiquidity >= 0 && rules.MinLiquidity < 1<<53) {
		return nil, fmt.Errorf("the rules of %s are out of range: readings every %v seconds, and a least liquidity of %v", d.Manifest.Day, rules.MarketsInterval, rules.MinLiquidity)
	}
	return rules, nil
}

// Interval returns the time between two readings of the markets.
func (r *RuleRow) Interval() time.Duration {
	return time.Duration(r.MarketsInterval * float64(time.Second))
}

// TextRows reads the current texts of a table of the day, without erased ones. It skips text files
// that the storage withholds, as a release does.
func TextRows(ctx context.Context, d *Day, table string) iter.Seq2[TextRow, error] {
	return func(yield func(TextRow, error) bool) {
		for _, f := range d.Manifest.Texts {
			if f.Table != table {
				continue
			}
			for row, err := range readTexts(ctx, d.storage, Path(d.Manifest.Day, f.Name)) {
				if errors.Is(err, ErrNotExist) {
					break // withheld, or all erased
				}
				if !yield(row, err) {
					return
				}
			}
		}
	}
}

// readTexts yields the rows of a text file.
func readTexts(ctx context.Context, s Storage, name string) iter.Seq2[TextRow, error] {
	return func(yield func(TextRow, error) bool) { readFile(ctx, s, name, yield) }
}

// readFile yields the rows of a file. It returns false if the iteration must stop.
func readFile[T any](ctx context.Context, s Storage, name string, yield func(T, error) bool) bool {
	var none T
	o, err := s.Open(ctx, name)
	if err != nil {
		yield(none, fmt.Errorf("%s: %w", name, err))
		return false
	}
	defer o.Close()
	r, err := openRows[T](o, o.Size())
	if err != nil {
		yield(none, fmt.Errorf("%s: %w", name, err))
		return false
	}
	defer func() { _ = guarded(r.Close) }()
	rows := make([]T, readRows)
	for {
		n, err := nextRows(r, rows)
		for _, row := range rows[:n] {
			if !yield(row, ctx.Err()) || ctx.Err() != nil {
				return false
			}
		}
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil {
			yield(none, fmt.Errorf("%s: %w", name, err))
			return false
		}
		clear(rows)
	}
}

// each yields the elements of a list.
func each[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for i := range list {
			if !yield(list[i], nil) {
				return
			}
		}
	}
}
