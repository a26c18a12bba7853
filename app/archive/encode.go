package archive

import (
	"bytes"
	"fmt"

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
	var rows []T
	err := guarded(func() (err error) {
		rows, err = parquet.Read[T](bytes.NewReader(content), int64(len(content)))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("decode rows: %w", err)
	}
	return rows, nil
}
