package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/problem"
)

// AgentProfile is what an agent declares about itself.
type AgentProfile = agent.Profile

// withAgents opens the database beside a live server and hands the store a
// transaction.
func withAgents(ctx context.Context, cfg config.Config, run func(ctx context.Context, tx bun.Tx) error) error {
	return withDatabase(ctx, cfg, func(db *database.DB) error { return db.InTx(ctx, run) })
}

// AgentCreate makes an agent in the local registry and prints its key, which is
// shown only here.
func AgentCreate(ctx context.Context, cfg config.Config, profile AgentProfile, out io.Writer) error {
	if err := localOnly(&cfg); err != nil {
		return err
	}
	return withAgents(ctx, cfg, func(ctx context.Context, tx bun.Tx) error {
		now := database.Now(time.Now())
		made, err := agent.Store{}.Create(ctx, tx, agent.New{Profile: profile, At: now})
		if err != nil {
			return err
		}
		key, issued, err := agent.Store{}.IssueKey(ctx, tx, made.ID, "first key", now)
		if err != nil {
			return err
		}
		if err := shellAct(ctx, tx, admin.Entry{Action: admin.ActKeyIssued, Target: admin.AgentTarget(made.Handle), After: "a new agent, key " + issued.ID}); err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "agent  %s\nhandle %s\nkey    %s\nThe key is shown only here; keep it safe.\n", made.Name, made.Handle, key)
		return err
	})
}

// AgentRotateKey revokes every key of an agent, with the sessions begun with them,
// and prints a new key.
func AgentRotateKey(ctx context.Context, cfg config.Config, handle string, out io.Writer) error {
	if err := localOnly(&cfg); err != nil {
		return err
	}
	return withAgents(ctx, cfg, func(ctx context.Context, tx bun.Tx) error {
		found, err := findAgent(ctx, tx, handle)
		if err != nil {
			return err
		}
		key, issued, err := agent.Store{}.RotateKeys(ctx, tx, found.ID, "rotated", database.Now(time.Now()))
		if err != nil {
			return err
		}
		if err := shellAct(ctx, tx, admin.Entry{Action: admin.ActKeyIssued, Target: admin.AgentTarget(found.Handle), Before: "every other key", After: "revoked, key " + issued.ID}); err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "handle %s\nkey    %s\nThe keys before it are revoked. This one is shown only here; keep it safe.\n", found.Handle, key)
		return err
	})
}

// AgentSetEnabled disables an agent, or lets it in again; every node follows within
// a second.
func AgentSetEnabled(ctx context.Context, cfg config.Config, handle string, enabled bool, out io.Writer) error {
	status, action := agent.Disabled, admin.ActAgentDisabled
	if enabled {
		status, action = agent.Active, admin.ActAgentEnabled
	}
	return withAgents(ctx, cfg, func(ctx context.Context, tx bun.Tx) error {
		found, err := findAgent(ctx, tx, handle)
		if err != nil {
			return err
		}
		if _, err := (agent.Store{}).SetStatus(ctx, tx, found.ID, status, database.Now(time.Now())); err != nil {
			return err
		}
		if err := shellAct(ctx, tx, admin.Entry{Action: action, Target: admin.AgentTarget(found.Handle), Before: string(found.Status), After: string(status)}); err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s is %s\n", found.Handle, status)
		return err
	})
}

// AgentList prints every agent, a line each.
func AgentList(ctx context.Context, cfg config.Config, out io.Writer) error {
	return withDatabase(ctx, cfg, func(db *database.DB) error {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "HANDLE\tNAME\tMODEL\tSTATUS\tSAMPLE\tCREATED\tLAST SEEN")
		f := agent.Filter{Limit: 500}
		for {
			page, err := agent.Store{}.List(ctx, db.Reader, f)
			if err != nil {
				return err
			}
			for _, a := range page {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%t\t%s\t%s\n", a.Handle, a.Name, a.Model, a.Status, a.Sample, stamp(a.CreatedAt), stamp(a.LastSeenAt))
			}
			if len(page) < f.Limit {
				return w.Flush()
			}
			f.After = page[len(page)-1].Handle
		}
	})
}

// AgentShow prints an agent with its keys, which are only named, never shown.
func AgentShow(ctx context.Context, cfg config.Config, handle string, out io.Writer) error {
	return withDatabase(ctx, cfg, func(db *database.DB) error {
		a, err := findAgent(ctx, db.Reader, handle)
		if err != nil {
			return err
		}
		keys, err := agent.Store{}.ListKeys(ctx, db.Reader, a.ID)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintf(w, "handle\t%s\nname\t%s\nid\t%s\nmodel\t%s\nstatus\t%s\ncreated\t%s\nlast seen\t%s\n",
			a.Handle, a.Name, a.ID, a.Model, a.Status, stamp(a.CreatedAt), stamp(a.LastSeenAt))
		if err := printUsage(ctx, db, a.ID, w); err != nil {
			return err
		}
		for _, k := range keys {
			fmt.Fprintf(w, "key %s\t%s, created %s, last used %s, revoked %s\n", k.ID, k.Label, stamp(k.CreatedAt), stamp(k.LastUsedAt), stamp(k.RevokedAt))
		}
		return w.Flush()
	})
}

// printUsage prints what an agent asked in 24 hours, and its latest errors.
func printUsage(ctx context.Context, db *database.DB, id uuid.UUID, w io.Writer) error {
	const hours, errorsShown = 24, 10
	usage := agent.NewUsage(db, slog.New(slog.DiscardHandler), time.Now)
	sum, err := usage.Last24h(ctx, db.Reader, id)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "requests, 24 h\t%d, %d failed, %d limited\n", sum.Requests, sum.Errors, sum.Limited)
	endpoints, err := usage.Endpoints(ctx, db.Reader, id, hours)
	if err != nil {
		return err
	}
	for _, e := range endpoints {
		fmt.Fprintf(w, "  %s %s\t%d, %d refused, %d limited, %d failed\n", e.Method, orUnmatched(e.Route), e.Total(), e.Refused, e.Limited, e.Failed)
	}
	failures, err := usage.Failures(ctx, db.Reader, id)
	if err != nil {
		return err
	}
	for _, f := range failures[:min(len(failures), errorsShown)] {
		fmt.Fprintf(w, "error %s\t%d %s, %s %s, request %s\n", stamp(f.CreatedAt), f.Status, f.Code, f.Method, orUnmatched(f.Route), f.RequestID)
	}
	return nil
}

func orUnmatched(route string) string {
	if route == "" {
		return "(no such address)"
	}
	return route
}

func findAgent(ctx context.Context, db bun.IDB, handle string) (*agent.Agent, error) {
	found, err := agent.Store{}.ByHandle(ctx, db, handle)
	if problem.IsNotFound(err) {
		return nil, fmt.Errorf("no agent has the handle %q; list them with: pulsecast agent list", handle)
	}
	return found, err
}

func localOnly(cfg *config.Config) error {
	if cfg.IdentityURL != "" {
		return fmt.Errorf("IDENTITY_URL is set: agents and keys come from %s, not from this registry", cfg.IdentityURL)
	}
	return nil
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.UTC().Format(time.RFC3339)
}
