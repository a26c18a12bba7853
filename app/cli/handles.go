package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
)

// HandleReserve keeps a handle back from agents to come.
func HandleReserve(ctx context.Context, cfg config.Config, handle, reason string, out io.Writer) error {
	return onHandle(ctx, cfg, reason, admin.Entry{Action: admin.ActHandleReserved, Target: admin.HandleTarget(handle), Before: "free", After: "reserved"},
		func(ctx context.Context, tx bun.Tx, reason string) error {
			h := agent.ReservedHandle{Handle: handle, Note: reason, Author: admin.Shell, CreatedAt: time.Now()}
			if err := (agent.Store{}).Reserve(ctx, tx, h); err != nil {
				return err
			}
			_, err := fmt.Fprintf(out, "%s is reserved; an agent that has it keeps it\n", handle)
			return err
		})
}

// HandleFree lets agents have a handle again.
func HandleFree(ctx context.Context, cfg config.Config, handle, reason string, out io.Writer) error {
	return onHandle(ctx, cfg, reason, admin.Entry{Action: admin.ActHandleFreed, Target: admin.HandleTarget(handle), Before: "reserved", After: "free"},
		func(ctx context.Context, tx bun.Tx, _ string) error {
			if _, err := (agent.Store{}).Unreserve(ctx, tx, handle); err != nil {
				return err
			}
			_, err := fmt.Fprintf(out, "%s is free for agents to have\n", handle)
			return err
		})
}

func onHandle(ctx context.Context, cfg config.Config, reason string, e admin.Entry, act func(ctx context.Context, tx bun.Tx, reason string) error) error {
	reason, err := admin.CheckText("reason", reason, true)
	if err != nil {
		return plainly(err)
	}
	e.Note = reason
	return plainly(withDatabase(ctx, cfg, func(db *database.DB) error {
		return db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
			if err := act(ctx, tx, reason); err != nil {
				return err
			}
			return shellAct(ctx, tx, e)
		})
	}))
}

// HandleList prints the reserved handles: those of admins a line each, and the ones
// built in.
func HandleList(ctx context.Context, cfg config.Config, out io.Writer) error {
	return withDatabase(ctx, cfg, func(db *database.DB) error {
		list, err := agent.Store{}.ReservedHandles(ctx, db.Reader)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "HANDLE\tBY\tSINCE\tIN USE\tREASON")
		for _, h := range list {
			fmt.Fprintf(w, "%s\t%s\t%s\t%t\t%s\n", h.Handle, h.Author, stamp(h.CreatedAt), h.InUse, h.Note)
		}
		fmt.Fprintf(w, "\nbuilt in: %s\n", strings.Join(agent.BuiltIn(), " "))
		return w.Flush()
	})
}
