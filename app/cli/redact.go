package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
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

// Run stores the request. A job of the worker erases the texts.
func (r *redactCommand) Run(ctx context.Context) error {
	if r.ArchiveURL == archive.Off {
		return errors.New("ARCHIVE_URL: off; there is no archive to erase from")
	}
	if strings.TrimSpace(r.Reason) == "" {
		return errors.New("the reason is empty: give the public reason, such as ordered")
	}
	err := withDatabase(ctx, r.Config, func(db *database.DB) (err error) {
		if err = r.find(ctx, db); err != nil {
			return err
		}
		request := archive.Request{Table: r.Table, Record: r.Record, Reason: r.Reason}
		return archive.RequestRedaction(ctx, db, time.Now(), true, request)
	})
	if err != nil {
		return err
	}
	fmt.Printf("the worker erases the texts of %s %s from the archive within %s; pages and the API show them as before\n", r.Table, r.Record, archive.Interval)
	return nil
}

// find checks that the record exists, and writes its id as the archive does.
func (r *redactCommand) find(ctx context.Context, db *database.DB) error {
	if r.Table == archive.News {
		return r.findPost(ctx, db)
	}
	id, err := uuid.Parse(r.Record)
	if err != nil {
		return r.notID(ctx, db)
	}
	r.Record = id.String()
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
		err = fmt.Errorf("no record of %s has the id %s", r.Table, r.Record)
	}
	return err
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
