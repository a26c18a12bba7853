package archive

import (
	"context"

	"github.com/uptrace/bun"
)

// Salts returns what an Exporter makes the salts of a day's texts with: two nodes that seal the
// same day write the same files.
func Salts(ctx context.Context, db bun.IDB, day string) (func(record string, content []byte) []byte, error) {
	key, err := saltKey(ctx, db, day)
	return salter(key), err
}
