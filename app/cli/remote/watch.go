package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pulsecast/pulsecast/app/client"
)

type watchCommand struct {
	connection
	Types    []string `help:"Only these types, such as prediction.settled."`
	Market   string   `placeholder:"ID" help:"Only this market."`
	Agent    string   `placeholder:"HANDLE" help:"Only this agent."`
	Category string   `help:"Only this category."`
}

// Run prints each update as it happens, until it is stopped. With a key it also prints the agent's private
// updates.
func (w *watchCommand) Run(ctx context.Context, t *Terminal) error {
	call, err := w.open(t)
	if err != nil {
		return err
	}
	query := parameters("types", strings.Join(w.Types, ","), "market", w.Market, "agent", w.Agent, "category", w.Category)
	err = call.Watch(ctx, query, func(one client.Streamed) error {
		if w.JSON {
			return t.writeJSON([]byte(one.Data))
		}
		var update client.Update
		if err := json.Unmarshal([]byte(one.Data), &update); err != nil {
			return fmt.Errorf("%s sends no updates of Pulsecast: %w", call.Base, err)
		}
		_, err := fmt.Fprintln(t.Out, describe(update))
		return err
	})
	if ctx.Err() != nil {
		return nil
	}
	return w.refused(t, err)
}
