package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/signal"
)

// maxWorlds is the maximum number of worlds of a run whose files are kept: one for each pair that a
// run may have, and the open ones.
const maxWorlds = maxPairs + openWorlds

// checkRoom refuses another world for a run that has published at too many moments.
func (b *builder) checkRoom(run *Run) error {
	files, err := filepath.Glob(filepath.Join(b.runs.folder(run.ID), "worlds", "*.db"))
	if err != nil {
		return fmt.Errorf("make a world: %w", err)
	}
	if len(files) >= maxWorlds {
		return problem.New(problem.CodeInvalidRequest, fmt.Sprintf("This run has published at %d moments, which is the maximum. Make another run with POST /r.", len(files)))
	}
	return nil
}

// eachWorld calls read with the database of each world of a run, and with its T. It skips worlds that aren't filled,
// because nothing is published in them, and files that were deleted after it listed them. read must not open worlds:
// that may close others, and closing them waits for read.
func (b *builder) eachWorld(ctx context.Context, run *Run, read func(db *database.DB, at time.Time) error) error {
	paths, err := filepath.Glob(filepath.Join(b.runs.folder(run.ID), "worlds", "*.db"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := b.readWorld(ctx, path, read); err != nil {
			return fmt.Errorf("read the world in %s: %w", filepath.Base(path), err)
		}
	}
	return nil
}

func (b *builder) readWorld(ctx context.Context, path string, read func(db *database.DB, at time.Time) error) (err error) {
	b.files.RLock() // SQLite would create a file that was just deleted
	defer b.files.RUnlock()
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	db, err := database.Open(ctx, "sqlite://"+path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	text, filled, err := database.Setting(ctx, db.Reader, complete)
	if err != nil || !filled {
		return err
	}
	at, err := readMoment(text)
	if err != nil {
		return err
	}
	return read(db, at)
}

// shrink deletes prices, news and feeds, which make up nearly all of a world and can be read from the
// archive again. Publications stay. Opening the world fills it again.
func (w *world) shrink(ctx context.Context) error {
	err := w.app.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := (market.Store{}).DropPrices(ctx, tx); err != nil {
			return err
		}
		if err := (news.Store{}).Drop(ctx, tx); err != nil {
			return err
		}
		if err := signal.Drop(ctx, tx); err != nil {
			return err
		}
		return database.SetSetting(ctx, tx, shrunk, writeMoment(w.at))
	})
	if err == nil {
		err = w.app.DB.Compact(ctx)
	}
	if err != nil {
		return fmt.Errorf("shrink a world: %w", err)
	}
	return nil
}

// close closes a world, and deletes its file if nothing was written. The file can be made again
// from the archive, and reading at many moments must not fill the disk.
func (w *world) close() error {
	keep := w.kept.Load()
	var failed error
	if !keep { // an MCP tool may have published
		keep, failed = prediction.Select(w.app.DB.Reader).Where("p.agent_id = ?", w.run.Agent).Exists(context.Background())
	}
	if keep && failed == nil {
		failed = w.shrink(context.Background())
	}
	err := errors.Join(failed, w.app.Close())
	if keep || err != nil {
		return err
	}
	w.files.Lock()
	defer w.files.Unlock()
	for _, end := range []string{"", "-wal", "-shm"} {
		if gone := os.Remove(w.path + end); gone != nil && !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}
