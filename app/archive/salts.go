package archive

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// Salts returns the function with which an Exporter makes the 16-byte salts of a day's texts. Its
// key is random and the same for all nodes, so two nodes that seal the same day write the same
// files.
func Salts(ctx context.Context, db bun.IDB, day string) (func(record string, content []byte) []byte, error) {
	key, err := saltKey(ctx, db, day)
	return salter(key), err
}

// saltKey returns the key of a day's salts. Two nodes that seal the same day use the same key, so
// they write the same files. The key is deleted when the next day is sealed, because no node can
// still be sealing this one. Sealer.adopt tells by the key whether this database has begun to seal
// the day.
func saltKey(ctx context.Context, db bun.IDB, day string) (string, error) {
	if _, err := database.AddSetting(ctx, db, saltSetting(day), rand.Text()); err != nil {
		return "", err
	}
	key, _, err := database.Setting(ctx, db, saltSetting(day))
	return key, err
}

// forgetSalt deletes the key of the day before.
func (s *Sealer) forgetSalt(ctx context.Context, tx bun.IDB, day string) error {
	from, _, err := Bounds(day)
	if err != nil {
		return err
	}
	return database.RemoveSetting(ctx, tx, saltSetting(DayOf(from.AddDate(0, 0, -1))))
}

func saltSetting(day string) string { return "archive_salt_" + day }

func salter(key string) func(record string, content []byte) []byte {
	return func(record string, content []byte) []byte {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(record + "\x00"))
		mac.Write(content)
		return mac.Sum(nil)[:16]
	}
}
