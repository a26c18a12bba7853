package database

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/uptrace/bun"
)

// Setting reads a value that the service keeps for itself; ok is false for a name that
// was never set.
func Setting(ctx context.Context, db bun.IDB, name string) (value string, ok bool, err error) {
	err = db.NewRaw("SELECT value FROM settings WHERE name = ?", name).Scan(ctx, &value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read setting %s: %w", name, err)
	}
	return value, true, nil
}

// SetSetting stores a setting in place of what it was.
func SetSetting(ctx context.Context, db bun.IDB, name, value string) error {
	_, err := setWhere(ctx, db, name, value, "DO UPDATE SET value = EXCLUDED.value")
	return err
}

// AddSetting stores a setting that has no value yet. It reports whether it had none.
func AddSetting(ctx context.Context, db bun.IDB, name, value string) (bool, error) {
	return setWhere(ctx, db, name, value, "DO NOTHING")
}

// RaiseSetting stores a setting that has no value yet, or one that is lower as a text. Of two
// transactions that raise it to the same value one gets true; the other waits for it.
func RaiseSetting(ctx context.Context, db bun.IDB, name, value string) (bool, error) {
	return setWhere(ctx, db, name, value, "DO UPDATE SET value = EXCLUDED.value WHERE s.value < EXCLUDED.value")
}

func setWhere(ctx context.Context, db bun.IDB, name, value, conflict string) (bool, error) {
	res, err := db.NewRaw(
		"INSERT INTO settings AS s (name, value) VALUES (?, ?) ON CONFLICT (name) "+conflict, name, value,
	).Exec(ctx)
	if err != nil {
		return false, fmt.Errorf("store setting %s: %w", name, err)
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// RemoveSetting removes a setting, if it has a value.
func RemoveSetting(ctx context.Context, db bun.IDB, name string) error {
	if _, err := db.NewRaw("DELETE FROM settings WHERE name = ?", name).Exec(ctx); err != nil {
		return fmt.Errorf("remove setting %s: %w", name, err)
	}
	return nil
}

// TryWrite finds out whether the database takes writes that need room: it stores 64 KiB and
// removes them. Call it where a write has failed, and not often.
func TryWrite(ctx context.Context, db bun.IDB) error {
	const name = "write_probe"
	text := make([]byte, 32<<10)
	rand.Read(text) // never fails; Postgres would compress anything else
	if err := SetSetting(ctx, db, name, hex.EncodeToString(text)); err != nil {
		return err
	}
	return RemoveSetting(ctx, db, name)
}
