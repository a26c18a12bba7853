package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// lease is the right to run one job.
type lease struct {
	bun.BaseModel `bun:"table:leases,alias:l"`

	Name      string `bun:",pk"`
	Holder    string
	ExpiresAt time.Time
}

// acquire takes a lease that is free, expired or ours already, until now + life. It
// tells whether we have it.
func acquire(ctx context.Context, db bun.IDB, name, holder string, now time.Time, life time.Duration) (bool, error) {
	now = database.Now(now)
	res, err := db.NewInsert().Model(&lease{Name: name, Holder: holder, ExpiresAt: now.Add(life)}).
		On("CONFLICT (name) DO UPDATE").
		Set("holder = EXCLUDED.holder").Set("expires_at = EXCLUDED.expires_at").
		Where("l.holder = EXCLUDED.holder OR l.expires_at <= ?", now).Exec(ctx)
	return changed(res, err, "acquire lease of", name)
}

// renew prolongs a lease that is still ours; false means that another has it.
func renew(ctx context.Context, db bun.IDB, name, holder string, now time.Time, life time.Duration) (bool, error) {
	res, err := db.NewUpdate().Model((*lease)(nil)).Set("expires_at = ?", database.Now(now).Add(life)).
		Where("name = ?", name).Where("holder = ?", holder).Exec(ctx)
	return changed(res, err, "renew lease of", name)
}

// release gives a lease back, if it is ours.
func release(ctx context.Context, db bun.IDB, name, holder string) error {
	_, err := db.NewDelete().Model((*lease)(nil)).Where("name = ?", name).Where("holder = ?", holder).Exec(ctx)
	if err != nil {
		return fmt.Errorf("release lease of %s: %w", name, err)
	}
	return nil
}

// ReleaseAll takes every lease from its holder. No worker may be running.
func ReleaseAll(ctx context.Context, db bun.IDB) error {
	if _, err := db.NewDelete().Model((*lease)(nil)).Where("TRUE").Exec(ctx); err != nil {
		return fmt.Errorf("release leases: %w", err)
	}
	return nil
}

func changed(res interface{ RowsAffected() (int64, error) }, err error, what, name string) (bool, error) {
	if err != nil {
		return false, fmt.Errorf("%s %s: %w", what, name, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return false, fmt.Errorf("%s %s: %w", what, name, err)
	}
	return n == 1, nil
}

// Held is a job and the node that runs it.
type Held struct {
	Name      string
	Holder    string // each start of a node is a holder of its own
	ExpiresAt time.Time
}

// Leases lists which node runs which job, by the job's name; one that has expired is
// nobody's.
func Leases(ctx context.Context, db bun.IDB) ([]Held, error) {
	var rows []lease
	if err := db.NewSelect().Model(&rows).OrderExpr("name").Scan(ctx); err != nil {
		return nil, fmt.Errorf("read leases: %w", err)
	}
	list := make([]Held, len(rows))
	for i, l := range rows {
		list[i] = Held{Name: l.Name, Holder: l.Holder, ExpiresAt: l.ExpiresAt.UTC()}
	}
	return list, nil
}

// Holder names this worker in the leases.
func (w *Worker) Holder() string { return w.holder }
