package archive

import (
	"bufio"
	"container/heap"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// sortRows is the maximum number of rows in memory during a sort.
const sortRows = 100_000

// sorted yields rows in order. The sort is stable. If there are more than most rows, it sorts parts
// and merges them from disk.
func sorted[T any](rows iter.Seq2[T, error], compare func(a, b *T) int, most int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		s := sorter[T]{compare: compare, most: most}
		defer s.close()
		for row, err := range rows {
			if err == nil {
				err = s.add(row)
			}
			if err != nil {
				yield(none, err)
				return
			}
		}
		s.sort()
		if len(s.runs) == 0 {
			for i := range s.part {
				if !yield(s.part[i], nil) {
					return
				}
			}
			return
		}
		if err := s.spill(); err != nil {
			yield(none, err)
			return
		}
		s.merge(yield)
	}
}

// sorter is an external merge sort.
type sorter[T any] struct {
	compare func(a, b *T) int
	most    int       // maximum rows in memory
	part    []T       // rows not yet on disk
	runs    []*run[T] // sorted parts on disk
}

func (s *sorter[T]) add(row T) error {
	s.part = append(s.part, row)
	if len(s.part) < s.most {
		return nil
	}
	s.sort()
	return s.spill()
}

func (s *sorter[T]) sort() {
	slices.SortStableFunc(s.part, func(a, b T) int { return s.compare(&a, &b) })
}

// spill writes the rows in memory to a scratch file.
func (s *sorter[T]) spill() (err error) {
	if len(s.part) == 0 {
		return nil
	}
	file, err := Scratch()
	if err != nil {
		return fmt.Errorf("sort rows: %w", err)
	}
	r := &run[T]{number: len(s.runs), file: file}
	s.runs = append(s.runs, r)
	if err := r.write(s.part); err != nil {
		return fmt.Errorf("sort rows: %w", err)
	}
	clear(s.part)
	s.part = s.part[:0]
	return nil
}

// merge yields the rows of all runs.
func (s *sorter[T]) merge(yield func(T, error) bool) {
	h := runs[T]{compare: s.compare}
	for _, r := range s.runs {
		if more, err := r.next(); err != nil {
			yield(r.row, err)
			return
		} else if more {
			h.list = append(h.list, r)
		}
	}
	heap.Init(&h)
	for len(h.list) > 0 {
		r := h.list[0]
		if !yield(r.row, nil) {
			return
		}
		more, err := r.next()
		switch {
		case err != nil:
			yield(r.row, err)
			return
		case more:
			heap.Fix(&h, 0)
		default:
			heap.Pop(&h)
		}
	}
}

func (s *sorter[T]) close() {
	for _, r := range s.runs {
		r.close()
	}
}

// run is a sorted part on disk, and its next row.
type run[T any] struct {
	number  int
	file    *os.File
	row     T
	reader  *zstd.Decoder
	decoder *json.Decoder
}

func (r *run[T]) write(part []T) error {
	z, err := zstd.NewWriter(r.file, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	e := json.NewEncoder(z)
	for i := range part {
		if err := e.Encode(&part[i]); err != nil {
			return err
		}
	}
	return z.Close()
}

// next reads the next row. It returns false at the end.
func (r *run[T]) next() (more bool, err error) {
	if r.decoder == nil {
		if _, err := r.file.Seek(0, io.SeekStart); err != nil {
			return false, fmt.Errorf("sort rows: %w", err)
		}
		if r.reader, err = zstd.NewReader(r.file, zstd.WithDecoderConcurrency(1)); err != nil {
			return false, fmt.Errorf("sort rows: %w", err)
		}
		r.decoder = json.NewDecoder(bufio.NewReader(r.reader))
	}
	var row T
	if err := r.decoder.Decode(&row); errors.Is(err, io.EOF) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("sort rows: %w", err)
	}
	r.row = row
	return true, nil
}

func (r *run[T]) close() {
	if r.reader != nil {
		r.reader.Close()
	}
	_ = r.file.Close() // the file is deleted already
}

// runs is a heap of runs, ordered by next row and then by number.
type runs[T any] struct {
	compare func(a, b *T) int
	list    []*run[T]
}

func (h *runs[T]) Len() int      { return len(h.list) }
func (h *runs[T]) Swap(i, j int) { h.list[i], h.list[j] = h.list[j], h.list[i] }
func (h *runs[T]) Push(r any)    { h.list = append(h.list, r.(*run[T])) }

func (h *runs[T]) Less(i, j int) bool {
	a, b := h.list[i], h.list[j]
	if order := h.compare(&a.row, &b.row); order != 0 {
		return order < 0
	}
	return a.number < b.number
}

func (h *runs[T]) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}
