package archive

import (
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"
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

// openParquet reads the footer of a file.
func openParquet(r io.ReaderAt, size int64) (file *parquet.File, err error) {
	err = guarded(func() error {
		file, err = parquet.OpenFile(r, size)
		return err
	})
	return file, err
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
