package replay

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// publishParts publishes the confidences that wait for a thesis in the worlds of a run. A world has
// no worker to do that, and its clock stands still, so they wait until the report. If a world is
// closed meanwhile, its file keeps them.
func (s *Server) publishParts(ctx context.Context, run *Run) error {
	files, err := filepath.Glob(filepath.Join(s.build.runs.folder(run.ID), "worlds", "*.db"))
	if err != nil {
		return err
	}
	for _, path := range files {
		at, wait, err := partsWait(ctx, path)
		if err == nil && wait {
			err = s.publishPartsAt(ctx, run, at)
		}
		if err != nil {
			return fmt.Errorf("publish the waiting parts in %s: %w", filepath.Base(path), err)
		}
	}
	return nil
}

// partsWait returns the moment of a world, and whether confidences wait in its file.
func partsWait(ctx context.Context, path string) (at time.Time, wait bool, err error) {
	db, err := database.Open(ctx, "sqlite://"+path)
	if err != nil {
		return at, false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	text, done, err := database.Setting(ctx, db.Reader, complete)
	if err != nil || !done {
		return at, false, err
	}
	if at, err = readMoment(text); err != nil {
		return at, false, err
	}
	wait, err = prediction.PartsWait(ctx, db.Reader)
	return at, wait, err
}

func (s *Server) publishPartsAt(ctx context.Context, run *Run, at time.Time) error {
	w, release, err := s.worlds.acquire(ctx, run, at)
	if err != nil {
		return err
	}
	defer release()
	return errors.Join(w.app.PublishParts(ctx), w.app.Recheck(ctx))
}
