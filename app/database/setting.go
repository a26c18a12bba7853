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

// Setting returns a value that the service stores for itself. ok is false if the name was never
// set.
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

// SetSetting stores a setting and replaces any earlier value.
func SetSetting(ctx context.Context, db bun.IDB, name, value string) error {
	_, err := setWhere(ctx, db, name, value, "DO UPDATE SET value = EXCLUDED.value")
	return err
}

// AddSetting stores a setting if it has no value yet, and reports whether it stored it.
func AddSetting(ctx context.Context, db bun.IDB, name, value string) (bool, error) {
	return setWhere(ctx, db, name, value, "DO NOTHING")
}

// RaiseSetting stores a setting if it has no value yet, or a lower one in text order, or one above
// highest, which is wrong. If two transactions raise it to the same value, the second waits for the
// first, and only one gets true.
func RaiseSetting(ctx context.Context, db bun.IDB, name, value, highest string) (bool, error) {
	return setWhere(ctx, db, name, value, "DO UPDATE SET value = EXCLUDED.value WHERE s.value < EXCLUDED.value OR s.value > ?", highest)
}

func setWhere(ctx context.Context, db bun.IDB, name, value, conflict string, args ...any) (bool, error) {
	res, err := db.NewRaw(
		"INSERT INTO settings AS s (name, value) VALUES (?, ?) ON CONFLICT (name) "+conflict, append([]any{name, value}, args...)...,
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

// TryWrite checks whether the database accepts writes that need space: it stores 64 KiB and removes
// them. Call it after a write has failed, and not often.
func TryWrite(ctx context.Context, db bun.IDB) error {
	const name = "write_probe"
	text := make([]byte, 32<<10)
	rand.Read(text) // never fails; Postgres would compress anything else
	if err := SetSetting(ctx, db, name, hex.EncodeToString(text)); err != nil {
		return err
	}
	return RemoveSetting(ctx, db, name)
}
