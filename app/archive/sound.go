package archive

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// guarded calls read and returns a panic in it as an error, because the Parquet library panics on
// some damaged files.
func guarded(read func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("it is damaged: %v", cause)
		}
	}()
	return read()
}

// checkFooter returns an error if a file is too short for the footer that it names. The library would allocate the
// footer, up to 4 GiB, before it notices. The last eight bytes are the footer's length and a magic number; see
// https://parquet.apache.org/docs/file-format/.
func checkFooter(r io.ReaderAt, size int64) error {
	var end [8]byte
	if size < int64(len(end)) {
		return fmt.Errorf("it is damaged: it has %d bytes", size)
	}
	if _, err := r.ReadAt(end[:], size-int64(len(end))); err != nil && err != io.EOF {
		return fmt.Errorf("read the end: %w", err)
	}
	if footer := binary.LittleEndian.Uint32(end[:]); int64(footer) > size-int64(len(end)) {
		return fmt.Errorf("it is damaged: it has %d bytes and names a footer of %d", size, footer)
	}
	return nil
}

// openParquet reads the footer of a file.
func openParquet(r io.ReaderAt, size int64) (file *parquet.File, err error) {
	if err := checkFooter(r, size); err != nil {
		return nil, err
	}
	err = guarded(func() error {
		file, err = parquet.OpenFile(r, size)
		return err
	})
	if err == nil {
		err = checkCodecs(file.Metadata())
	}
	return file, err
}

// checkCodecs returns an error if a column isn't compressed by Zstandard, as all of ours are. For some other codecs,
// the library believes the size in a damaged page.
func checkCodecs(meta *format.FileMetaData) error {
	for _, group := range meta.RowGroups {
		for _, column := range group.Columns {
			if codec := column.MetaData.Codec; codec != format.Zstd {
				return fmt.Errorf("it is damaged: a column is compressed by %s", codec)
			}
		}
	}
	return nil
}

// openRows opens a file of rows of T. It returns an error if the file lacks a column of T or has it
// with another type. The library would read such a column as zeros, or panic.
func openRows[T any](r io.ReaderAt, size int64) (rows *parquet.GenericReader[T], err error) {
	file, err := openParquet(r, size)
	if err == nil {
		err = sameColumns(file.Schema(), parquet.SchemaOf(new(T)))
	}
	if err != nil {
		return nil, err
	}
	err = guarded(func() error {
		rows = parquet.NewGenericReader[T](file)
		return nil
	})
	return rows, err
}

// nextRows reads the next rows of a file. With the last ones, or after them, it returns io.EOF.
func nextRows[T any](r *parquet.GenericReader[T], rows []T) (n int, err error) {
	err = guarded(func() (err error) {
		n, err = r.Read(rows)
		return err
	})
	return n, err
}

func sameColumns(got, want *parquet.Schema) error {
	for _, path := range want.Columns() {
		wanted, _ := want.Lookup(path...)
		column, ok := got.Lookup(path...)
		switch {
		case !ok:
			return fmt.Errorf("it has no column %s", strings.Join(path, "."))
		case column.Node.Type().Kind() != wanted.Node.Type().Kind():
			return fmt.Errorf("its column %s isn't of type %s", strings.Join(path, "."), wanted.Node.Type().Kind())
		}
	}
	return nil
}
