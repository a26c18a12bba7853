package worker

import (
	"context"
	"database/sql"
	"errors"
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
	Failures  int // in a row, if the last holder failed and left the job to others; see Worker.passOn
}

// tooLong is far more than the life of any lease. A lease that would last longer was taken or renewed while a clock was
// ahead.
const tooLong = time.Hour

// acquire takes a lease for life if it is free, expired, would last too long, or is held by this worker already. It
// reports whether this worker holds it now.
func (w *Worker) acquire(ctx context.Context, name string, life time.Duration) (bool, error) {
	res, err := w.db.NewRaw(`INSERT INTO leases AS l (name, holder, expires_at) VALUES (?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET holder = EXCLUDED.holder, expires_at = EXCLUDED.expires_at
		WHERE l.holder = EXCLUDED.holder OR l.expires_at <= ? OR l.expires_at > ?`,
		name, w.holder, w.time(w.db, w.now(), life), w.time(w.db, w.now(), 0), w.time(w.db, w.now(), tooLong)).Exec(ctx)
	return changed(res, err, "acquire lease of", name)
}

// renew extends a lease that this worker holds, and forgets the failures of its last holder. It returns false if
// another worker holds it.
func (w *Worker) renew(ctx context.Context, name string, life time.Duration) (bool, error) {
	res, err := w.db.NewUpdate().Model((*lease)(nil)).Set("expires_at = ?", w.time(w.db, w.now(), life)).Set("failures = 0").
		Where("name = ?", name).Where("holder = ?", w.holder).Exec(ctx)
	return changed(res, err, "renew lease of", name)
}

// end lets a lease that this worker holds expire now, with a number of failures for the next holder.
func (w *Worker) end(ctx context.Context, name string, failures int) error {
	_, err := w.db.NewUpdate().Model((*lease)(nil)).Set("expires_at = ?", w.time(w.db, w.now(), 0)).Set("failures = ?", failures).
		Where("name = ?", name).Where("holder = ?", w.holder).Exec(ctx)
	if err != nil {
		return fmt.Errorf("end lease of %s: %w", name, err)
	}
	return nil
}

// failures returns the number of failures that the last holder of a lease has left.
func (w *Worker) failures(ctx context.Context, name string) (n int, err error) {
	err = w.db.NewSelect().Model((*lease)(nil)).Column("failures").Where("name = ?", name).Scan(ctx, &n)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("read lease of %s: %w", name, err)
	}
	return n, nil
}

// release gives a lease back if holder holds it.
func release(ctx context.Context, db bun.IDB, name, holder string) error {
	_, err := db.NewDelete().Model((*lease)(nil)).Where("name = ?", name).Where("holder = ?", holder).Exec(ctx)
	if err != nil {
		return fmt.Errorf("release lease of %s: %w", name, err)
	}
	return nil
}

// ReleaseAll releases every lease. No worker may be running.
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

// Held is a job and the node that holds its lease.
type Held struct {
	Name      string
	Holder    string // each start of a node has its own id
	ExpiresAt time.Time
	Expired   bool // by the database's clock; then no node runs the job
}

// Leases lists the leases, ordered by the name of the job. now is used if the database has no
// clock.
func Leases(ctx context.Context, db bun.IDB, now time.Time) ([]Held, error) {
	var list []Held
	err := db.NewSelect().Model((*lease)(nil)).Column("name", "holder", "expires_at").
		ColumnExpr("l.expires_at <= ? AS expired", database.ServerTime(db, now, 0)).OrderExpr("name").Scan(ctx, &list)
	if err != nil {
		return nil, fmt.Errorf("read leases: %w", err)
	}
	for i := range list {
		list[i].ExpiresAt = list[i].ExpiresAt.UTC()
	}
	return list, nil
}

// Holder returns the name of this worker in leases.
func (w *Worker) Holder() string { return w.holder }
