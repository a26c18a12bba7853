package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/moderation"
)

// handleNamed is a command about one handle.
type handleNamed struct {
	config.Config
	Handle string `arg:"" help:"The handle."`
	Reason string `required:"" help:"Why; kept in the audit log."`
}

type (
	handleReserve struct{ handleNamed }
	handleFree    struct{ handleNamed }
	handleList    struct{ config.Config }
)

func (h *handleReserve) Run(ctx context.Context) error {
	return moderate(ctx, h.Config, func(s *moderation.Service) error {
		if err := s.ReserveHandle(ctx, byShell(h.Reason), h.Handle); err != nil {
			return err
		}
		_, err := fmt.Printf("%s is reserved. An agent that already has it keeps it.\n", h.Handle)
		return err
	})
}

func (h *handleFree) Run(ctx context.Context) error {
	return moderate(ctx, h.Config, func(s *moderation.Service) error {
		if err := s.FreeHandle(ctx, byShell(h.Reason), h.Handle); err != nil {
			return err
		}
		_, err := fmt.Printf("%s is no longer reserved\n", h.Handle)
		return err
	})
}

// Run prints the reserved handles: those reserved by admins one per line, then the built-in ones.
func (h *handleList) Run(ctx context.Context) error {
	return withDatabase(ctx, h.Config, func(db *database.DB) error {
		list, err := agent.Store{}.ReservedHandles(ctx, db.Reader)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "HANDLE\tBY\tSINCE\tIN USE\tREASON")
		for _, r := range list {
			fmt.Fprintf(w, "%s\t%s\t%s\t%t\t%s\n", r.Handle, r.Author, stamp(r.CreatedAt), r.InUse, r.Note)
		}
		fmt.Fprintf(w, "\nbuilt in: %s\n", strings.Join(agent.BuiltIn(), " "))
		return w.Flush()
	})
}
