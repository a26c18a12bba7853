package archive

import (
	"context"

	"github.com/uptrace/bun"
)

// Salts returns the function with which an Exporter makes the 16-byte salts of a day's texts. Its
// key is random and the same for all nodes, so two nodes that seal the same day write the same
// files.
func Salts(ctx context.Context, db bun.IDB, day string) (func(record string, content []byte) []byte, error) {
	key, err := saltKey(ctx, db, day)
	return salter(key), err
}
