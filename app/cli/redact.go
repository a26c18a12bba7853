package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

type redactCommand struct {
	config.Config
	Table  string `arg:"" enum:"news,predictions,agents" help:"news, predictions or agents. An agent's texts include those of its predictions."`
	Record string `arg:"" help:"Id of the record. For an agent, this is the id that agent show prints, not the handle."`
	Reason string `arg:"" help:"The public reason, such as ordered."`
}

// Run hides the texts, or erases those of a post. A job of the worker erases them from the archive.
func (r *redactCommand) Run(ctx context.Context) error {
	if r.ArchiveURL == archive.Off {
		return errors.New("ARCHIVE_URL: off; there is no archive to erase from")
	}
	if strings.TrimSpace(r.Reason) == "" {
		return errors.New("the reason is empty: give the public reason, such as ordered")
	}
	return moderate(ctx, r.Config, func(s *moderation.Service) error {
		if err := r.redact(ctx, s); err != nil {
			return err
		}
		_, err := fmt.Printf("pages and the API no longer show the texts of %s %s; the worker erases them from the archive within %s\n", r.Table, r.Record, archive.Interval)
		return err
	})
}

func (r *redactCommand) redact(ctx context.Context, s *moderation.Service) error {
	id, err := r.find(ctx, s.DB)
	if err != nil {
		return err
	}
	switch r.Table {
	case archive.Agents:
		return s.RedactAgent(ctx, byShell(r.Reason), id)
	case archive.Predictions:
		return s.RedactPrediction(ctx, byShell(r.Reason), id)
	}
	return s.RedactPost(ctx, byShell(r.Reason), r.Record)
}

// find checks that the record exists, and returns its id. A post has no UUID.
func (r *redactCommand) find(ctx context.Context, db *database.DB) (id uuid.UUID, err error) {
	if r.Table == archive.News {
		return id, r.findPost(ctx, db)
	}
	id, err = uuid.Parse(r.Record)
	if err != nil {
		return id, r.notID(ctx, db)
	}
	found := false
	if r.Table == archive.Agents {
		var a *agent.Agent
		if a, err = (agent.Store{}).ByID(ctx, db.Reader, id); problem.IsNotFound(err) {
			err = nil
		}
		found = a != nil
	} else {
		var p *prediction.Record
		p, err = prediction.Store{}.ByID(ctx, db.Reader, id)
		found = p != nil
	}
	if err == nil && !found {
		err = fmt.Errorf("no record of %s has the id %s", r.Table, id)
	}
	return id, err
}

// notID returns the error for a record that isn't a UUID. It helps if the record is an agent's handle.
func (r *redactCommand) notID(ctx context.Context, db *database.DB) error {
	if r.Table == archive.Agents {
		a, err := agent.Store{}.ByHandle(ctx, db.Reader, r.Record)
		if err == nil {
			return fmt.Errorf("%s is a handle; its id is %s", a.Handle, a.ID)
		}
		if !problem.IsNotFound(err) {
			return err
		}
	}
	return fmt.Errorf("%q is not an id of %s: send the UUID of the record", r.Record, r.Table)
}

func (r *redactCommand) findPost(ctx context.Context, db *database.DB) error {
	_, current, err := news.Store{}.ByID(ctx, db.Reader, r.Record)
	if err != nil || current {
		return err
	}
	archived, err := archive.HasPost(ctx, db.Reader, r.Record)
	if err == nil && !archived {
		err = fmt.Errorf("no current or archived news has the id %q; a post that was read today may be found once the day is sealed", r.Record)
	}
	return err
}
