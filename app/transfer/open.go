package transfer

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/partition"
)

// openSource opens the source and keeps servers from opening it until it is closed.
func (c *copier) openSource(ctx context.Context) (closeAll func() error, err error) {
	if c.From == c.To {
		return nil, errors.New("it is also the target")
	}
	if path, ok := database.SQLitePath(c.From); ok {
		if _, err := os.Stat(path); err != nil { // Open would create it
			return nil, err
		}
	}
	if c.from, err = openDirect(ctx, c.From); err != nil {
		return nil, err
	}
	unlock, err := c.from.Claim()
	if err != nil {
		if errors.Is(err, database.ErrInUse) {
			err = errors.New("a server or worker uses it; stop it first")
		}
		return nil, errors.Join(err, c.from.Close())
	}
	release := func() error { return errors.Join(unlock(), c.from.Close()) }
	if err := c.checkSource(ctx); err != nil {
		return nil, errors.Join(err, release())
	}
	if c.source, err = newSide(ctx, c.from, c.From); err != nil {
		return nil, errors.Join(err, release())
	}
	return func() error { return errors.Join(c.source.close(), release()) }, nil
}

// openDirect opens a side, but not through a connection pooler. The connections of a pooler would count as those of
// servers, and PgBouncer before version 1.21 can't prepare the statements of a copy.
func openDirect(ctx context.Context, address string) (*database.DB, error) {
	if path, ok := database.SQLitePath(address); (ok && path == "") || (!ok && !database.IsPostgresAddress(address)) {
		return nil, errors.New("it must be sqlite://PATH or postgres://…")
	}
	db, err := database.Open(ctx, address)
	if err == nil && db.Pooled() {
		return nil, errors.Join(errors.New("it leads through a connection pooler: name Postgres itself"), db.Close())
	}
	return db, err
}

func (c *copier) checkSource(ctx context.Context) error {
	if lost := c.from.LostWAL(); !lost.IsZero() {
		return errors.New("the file was copied while it was served, or has lost its -wal file; run pulsecast doctor")
	}
	if _, filling, err := c.from.FindIncoming(ctx); err != nil || filling {
		return errors.Join(err, database.ErrIncoming)
	}
	if err := c.from.Unused(ctx); err != nil {
		return err
	}
	applied, err := c.from.Applied(ctx)
	if err != nil {
		return err
	}
	var e *database.SchemaError
	if err = database.CompareSchema(applied); errors.As(err, &e) && e.Newer == nil {
		return fmt.Errorf("%w; run pulsecast migrate up on it first", err)
	}
	return err
}

// openTarget opens the target. It sets c.state if the target holds an interrupted copy.
func (c *copier) openTarget(ctx context.Context) (closeAll func() error, err error) {
	if c.to, err = openDirect(ctx, c.To); err != nil {
		return nil, err
	}
	unlock, err := c.to.Claim()
	if err != nil {
		return nil, errors.Join(err, c.to.Close())
	}
	release := func() error { return errors.Join(unlock(), c.to.Close()) }
	if c.to.Kind == database.SQLite && c.from.Kind == database.SQLite {
		return nil, errors.Join(errors.New("it is a SQLite file, as is the source; use pulsecast backup and pulsecast restore"), release())
	}
	if err := c.claimTarget(ctx); err != nil {
		return nil, errors.Join(err, release())
	}
	if c.target, err = newSide(ctx, c.to, c.To); err != nil {
		return nil, errors.Join(err, release())
	}
	return func() error { return errors.Join(c.target.close(), release()) }, nil
}

// ofCopy is the entry of an Incoming that identifies the source of a copy. It distinguishes a copy
// from a restore.
const ofCopy = "copy"

// claimTarget marks an empty target and creates the schema, or finds the mark of this copy.
func (c *copier) claimTarget(ctx context.Context) (err error) {
	var found bool
	if c.incoming, found, err = c.to.FindIncoming(ctx); err != nil {
		return err
	}
	if found {
		kept, err := c.incoming.All(ctx)
		if err != nil {
			return err
		}
		if kept[ofCopy] != c.from.Identity(c.From) {
			return errors.New("it holds an interrupted restore, or a copy from another source; complete that one, or name an empty database")
		}
		c.state = map[string]progress{}
	} else {
		tables, err := c.to.Tables(ctx)
		if err != nil {
			return err
		}
		if len(tables) > 0 {
			return fmt.Errorf("it has tables already (%s and %d more); name an empty database", tables[0].Name, len(tables)-1)
		}
		if c.incoming, err = c.to.BeginIncoming(ctx); err != nil {
			return err
		}
		if err := c.incoming.Set(ctx, ofCopy, c.from.Identity(c.From)); err != nil {
			return err
		}
	}
	if _, err = c.to.MigrateIncoming(ctx); err != nil {
		return err
	}
	now := c.Now()
	first, err := partition.First(ctx, c.from.Reader, now)
	if err != nil {
		return err
	}
	return partition.Prepare(ctx, c.to, c.Partitions, first, now)
}
