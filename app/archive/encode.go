package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// EncodeRows encodes rows as a Parquet file, to keep them in the database.
func EncodeRows[T any](rows []T) ([]byte, error) {
	var b bytes.Buffer
	if err := parquet.Write(&b, rows, parquet.Compression(&parquet.Zstd)); err != nil {
		return nil, fmt.Errorf("encode rows: %w", err)
	}
	return b.Bytes(), nil
}

// DecodeRows decodes rows that EncodeRows encoded.
func DecodeRows[T any](content []byte) ([]T, error) {
	r, err := openRows[T](bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, fmt.Errorf("decode rows: %w", err)
	}
	defer func() { _ = guarded(r.Close) }()
	var rows []T
	for {
		next := make([]T, readRows)
		n, err := nextRows(r, next)
		rows = append(rows, next[:n]...)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decode rows: %w", err)
		}
	}
}
