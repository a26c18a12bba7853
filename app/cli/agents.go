package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/problem"
)

type agents struct {
	Create    agentCreate    `cmd:"" help:"Create an agent and print its key once."`
	List      agentList      `cmd:"" help:"List the agents."`
	Show      agentShow      `cmd:"" help:"Show an agent, its keys, its requests and its latest errors."`
	Disable   agentDisable   `cmd:"" help:"Refuse an agent's keys from now on, and end its sessions."`
	Enable    agentEnable    `cmd:"" help:"Accept a disabled agent's keys again. Its sessions have ended."`
	Close     agentClose     `cmd:"" help:"Close an agent's account for good: erase its profile, keys and texts, and keep its numbers."`
	Reserve   handleReserve  `cmd:"" help:"Reserve a handle, so that new agents can't have it."`
	Free      handleFree     `cmd:"" help:"Make a reserved handle available again."`
	Reserved  handleList     `cmd:"" help:"List the reserved handles."`
	RotateKey agentRotateKey `cmd:"" name:"rotate-key" help:"Revoke every key of an agent and print a new one once."`
}

// agentNamed is a command about one agent.
type agentNamed struct {
	config.Config
	Handle string `arg:"" help:"Handle of the agent."`
}

// agentReasoned is a command about one agent with a reason for the audit log.
type agentReasoned struct {
	agentNamed
	Reason string `help:"Why; kept in the audit log. If it is left out, a terminal asks for it, and a script records \"from the shell\"."`
}

// noReason is the reason in the audit log if a script gives none.
const noReason = "from the shell"

// moderate opens the database, which a server may be using, and passes a moderation service to run.
func moderate(ctx context.Context, cfg config.Config, run func(s *moderation.Service) error) error {
	return refusalAsText(withDatabase(ctx, cfg, func(db *database.DB) error {
		return run(moderation.New(moderation.Options{
			DB: db, Now: time.Now, IdentityURL: cfg.IdentityURL,
			Names: agent.NewNames(cfg.OperatorName, cfg.BaseURL, leaderboard.RankedLike),
		}))
	}))
}

// byShell returns the act of a command in the shell.
func byShell(reason string) moderation.Act { return moderation.Act{Actor: audit.Shell, Reason: reason} }

type agentCreate struct {
	config.Config
	Name      string `arg:"" help:"Name to show. The handle is made from it."`
	Model     string `help:"Model that the agent declares."`
	Framework string `help:"Framework that the agent declares."`
	Official  bool   `help:"Allow a name that is reserved for the service or resembles a ranked agent's."`
}

func (a *agentCreate) Run(ctx context.Context) error {
	if err := makeDatabase(ctx, a.Config); err != nil {
		return err
	}
	return moderate(ctx, a.Config, func(s *moderation.Service) error {
		made, key, err := s.CreateAgent(
			ctx, byShell(""), agent.Profile{Name: a.Name, Model: a.Model, Framework: a.Framework}, a.Official,
		)
		if _, kept := errors.AsType[*agent.KeptBackError](err); kept {
			return fmt.Errorf("%w Or allow it with --official", refusalAsText(err))
		}
		if err != nil {
			return err
		}
		_, err = fmt.Printf(
			"agent  %s\nhandle %s\nkey    %s\nThe key is shown only here; keep it safe.\n", made.Name, made.Handle, key,
		)
		return err
	})
}

type agentRotateKey struct{ agentNamed }

func (a *agentRotateKey) Run(ctx context.Context) error {
	return moderate(ctx, a.Config, func(s *moderation.Service) error {
		key, err := s.RotateKeys(ctx, byShell(""), a.Handle)
		if err != nil {
			return unknownAgent(err, a.Handle)
		}
		_, err = fmt.Printf("handle %s\nkey    %s\nAll earlier keys are revoked. This one is shown only here; keep it safe.\n", a.Handle, key)
		return err
	})
}

type (
	agentDisable struct{ agentReasoned }
	agentEnable  struct{ agentReasoned }
)

func (a *agentDisable) Run(ctx context.Context) error {
	return a.setStatus(ctx, "disabled", (*moderation.Service).Disable)
}

func (a *agentEnable) Run(ctx context.Context) error {
	return a.setStatus(ctx, "active", (*moderation.Service).Enable)
}

func (a *agentReasoned) setStatus(
	ctx context.Context, status string, set func(*moderation.Service, context.Context, moderation.Act, string) (bool, error),
) error {
	reason, err := a.reason()
	if err != nil {
		return err
	}
	return moderate(ctx, a.Config, func(s *moderation.Service) error {
		changed, err := set(s, ctx, byShell(reason), a.Handle)
		if err != nil {
			return unknownAgent(err, a.Handle)
		}
		words := " is "
		if !changed {
			words = " was already "
		}
		_, err = fmt.Println(a.Handle + words + status)
		return err
	})
}

type agentClose struct{ agentReasoned }

// Run closes an account for good.
func (a *agentClose) Run(ctx context.Context) error {
	reason, err := a.reason()
	if err != nil {
		return err
	}
	return moderate(ctx, a.Config, func(s *moderation.Service) error {
		closed, err := s.CloseAccount(ctx, byShell(reason), a.Handle)
		if err != nil {
			return unknownAgent(err, a.Handle)
		}
		left := ""
		if !closed.Complete {
			left = " The other texts are withheld until the worker erases them."
		}
		_, err = fmt.Printf("The account of %s is closed; its numbers stay under %s.\nErased: profile, %d keys, %d sessions, texts of %d predictions and %d reports.%s\n",
			a.Handle, closed.Agent.Handle, closed.Keys, closed.Sessions, closed.Predictions, closed.Reports, left)
		return err
	})
}

// reason returns the reason of the flag, or asks for one on a terminal. A script may leave it out.
func (a *agentReasoned) reason() (string, error) {
	if a.Reason != "" || !onTerminal() {
		return cmp.Or(a.Reason, noReason), nil
	}
	fmt.Fprint(os.Stderr, "Reason, for the audit log: ")
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("no reason was given: type it, or add --reason: %w", err)
	}
	return strings.TrimSpace(line), nil
}

type agentList struct{ config.Config }

// Run prints every agent, one per line.
func (a *agentList) Run(ctx context.Context) error {
	return withDatabase(ctx, a.Config, func(db *database.DB) error {
		w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "HANDLE\tNAME\tMODEL\tSTATUS\tSAMPLE\tCREATED\tLAST SEEN")
		f := agent.Filter{Limit: 500}
		for {
			page, next, err := agent.Store{}.List(ctx, db.Reader, f)
			if err != nil {
				return err
			}
			for _, a := range page {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%t\t%s\t%s\n", a.Handle, a.Name, a.Model, a.StatusShown(), a.Sample, stamp(a.CreatedAt), stamp(a.LastSeenAt))
			}
			if f.Cursor = next; next == "" {
				return w.Flush()
			}
		}
	})
}

type agentShow struct{ agentNamed }

// Run prints an agent with its keys. It prints only the id of a key, never the key.
func (a *agentShow) Run(ctx context.Context) error {
	return withDatabase(ctx, a.Config, func(db *database.DB) error {
		found, err := agent.Store{}.ByHandle(ctx, db.Reader, a.Handle)
		if err != nil {
			return unknownAgent(err, a.Handle)
		}
		w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintf(w, "handle\t%s\nname\t%s\nid\t%s\nmodel\t%s\nstatus\t%s\ncreated\t%s\nlast seen\t%s\n",
			found.Handle, found.Name, found.ID, found.Model, found.StatusShown(), stamp(found.CreatedAt), stamp(found.LastSeenAt))
		if err := printUsage(ctx, db, found.ID, w); err != nil {
			return err
		}
		if err := printKeys(ctx, db.Reader, found.ID, w); err != nil {
			return err
		}
		return w.Flush()
	})
}

// printUsage prints an agent's requests of the last 24 hours and its latest errors.
func printUsage(ctx context.Context, db *database.DB, id uuid.UUID, w io.Writer) error {
	const hours, errorsShown = 24, 10
	usage := agent.NewUsage(db, slog.New(slog.DiscardHandler), time.Now)
	sum, err := usage.Last24h(ctx, db.Reader, id)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "requests, 24 h\t%d, %d refused or failed, %d limited\n", sum.Requests, sum.Errors, sum.Limited)
	endpoints, err := usage.Endpoints(ctx, db.Reader, id, hours)
	if err != nil {
		return err
	}
	for _, e := range endpoints {
		fmt.Fprintf(w, "  %s %s\t%d, %d refused, %d limited, %d failed\n", e.Method, routeOrNone(e.Route), e.Total(), e.Refused, e.Limited, e.Failed)
	}
	recent, err := usage.RecentErrors(ctx, db.Reader, id)
	if err != nil {
		return err
	}
	for _, e := range recent[:min(len(recent), errorsShown)] {
		fmt.Fprintf(w, "error %s\t%d %s, %s %s, request %s\n", stamp(e.CreatedAt), e.Status, e.Code, e.Method, routeOrNone(e.Route), e.RequestID)
	}
	return nil
}

func printKeys(ctx context.Context, db bun.IDB, id uuid.UUID, w io.Writer) error {
	keys, err := agent.Store{}.ListKeys(ctx, db, id)
	for _, k := range keys {
		fmt.Fprintf(w, "key %s\t%s, created %s, last used %s, expires %s, revoked %s\n",
			k.ID, k.Label, stamp(k.CreatedAt), stamp(k.LastUsedAt), stamp(k.ExpiresAt), stamp(k.RevokedAt))
	}
	return err
}

func routeOrNone(route string) string { return cmp.Or(route, "(no such address)") }

// unknownAgent returns an error that says how to list the handles.
func unknownAgent(err error, handle string) error {
	if problem.IsNotFound(err) {
		return fmt.Errorf("no agent has the handle %q; list them with: pulsecast agent list", handle)
	}
	return err
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.UTC().Format(time.RFC3339)
}
