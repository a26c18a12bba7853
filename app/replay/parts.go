package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// publishParts publishes the confidences that wait for a thesis in the worlds of a run. A world has
// no worker to do that, and its clock stands still, so they wait until the report. If a world is
// closed meanwhile, its file keeps them.
func (s *Server) publishParts(ctx context.Context, run *Run) error {
	var waiting []time.Time
	err := s.build.eachWorld(ctx, run, func(db *database.DB, at time.Time) error {
		wait, err := prediction.PartsWait(ctx, db.Reader)
		if wait {
			waiting = append(waiting, at)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, at := range waiting {
		if err := s.publishPartsAt(ctx, run, at); err != nil {
			return fmt.Errorf("publish the waiting parts at %s: %w", writeMoment(at), err)
		}
	}
	return nil
}

func (s *Server) publishPartsAt(ctx context.Context, run *Run, at time.Time) error {
	w, release, err := s.worlds.acquire(ctx, run, at)
	if err != nil {
		return err
	}
	defer release()
	return errors.Join(w.app.PublishParts(ctx), w.app.Recheck(ctx))
}
