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
	Types    []value `sep:"none" help:"Only these types, such as prediction.settled,market.closed."`
	Market   value   `placeholder:"ID" help:"Only this market."`
	Agent    value   `placeholder:"HANDLE" help:"Only this agent."`
	Category value   `help:"Only this category."`
}

// Run prints each update as it happens, until it is stopped. With a key it also prints the agent's private
// updates.
func (w *watchCommand) Run(ctx context.Context, t *Terminal) error {
	call, err := w.open(t)
	if err != nil {
		return err
	}
	var types []string
	for _, t := range w.Types {
		types = append(types, string(t))
	}
	query := parameters("types", value(strings.Join(types, ",")), "market", w.Market, "agent", w.Agent, "category", w.Category)
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
