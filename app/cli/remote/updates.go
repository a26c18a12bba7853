package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/client"
	"github.com/pulsecast/pulsecast/app/plaintext"
)

type updatesCommand struct {
	connection
	Since value `placeholder:"CURSOR" help:"Begin after this cursor, and don't store the new position; default: the stored position of the last call."`
	Limit int   `default:"100" help:"Largest number in one request, 1 to 100."`
}

// Run prints the new updates and stores the position.
func (u *updatesCommand) Run(ctx context.Context, t *Terminal) error {
	call, err := u.openAsAgent(t)
	if err != nil {
		return err
	}
	place, err := u.place(ctx, t, call)
	if err != nil {
		return u.refused(t, err)
	}
	for {
		page, err := u.page(ctx, t, call, place)
		if err != nil {
			return u.refused(t, err)
		}
		if err := place.move(page.Cursor); err != nil || !page.HasMore {
			return err
		}
	}
}

// place is the position in the updates after the last call.
type place struct {
	cursor string
	move   func(cursor string) error
}

// place returns the stored position of this agent, unless the command line names a cursor.
func (u *updatesCommand) place(ctx context.Context, t *Terminal, call *client.Client) (*place, error) {
	if u.Since != "" {
		p := &place{cursor: string(u.Since)}
		p.move = func(cursor string) error { p.cursor = cursor; return nil }
		return p, nil
	}
	var me client.Stats
	if _, err := call.Do(ctx, client.Request{Path: "/api/stats"}, &me); err != nil {
		return nil, err
	}
	path, err := configFile(t.ConfigDir, "updates.json")
	if err != nil {
		return nil, usage("the position can't be stored, because there is no home folder; name a cursor with --since (%v)", err)
	}
	var cursors map[string]string
	if err := readConfig(path, &cursors); err != nil {
		return nil, err
	}
	if cursors == nil { // the file is missing or contains null
		cursors = map[string]string{}
	}
	name := call.Base + " " + me.Stats.Agent.Handle
	p := &place{cursor: cursors[name]}
	p.move = func(cursor string) error {
		p.cursor, cursors[name] = cursor, cursor
		return writeConfig(path, cursors)
	}
	return p, nil
}

// page reads and prints one page. It replaces an expired position with the current one.
func (u *updatesCommand) page(ctx context.Context, t *Terminal, call *client.Client, at *place) (page client.Updates, err error) {
	query := parameters("limit", number(u.Limit), "since", value(at.cursor))
	body, err := call.Do(ctx, client.Request{Path: "/api/agents/me/updates", Query: query}, &page)
	if refusal, refused := errors.AsType[*client.Refusal](err); refused && refusal.Code == "cursor_expired" && refusal.Cursor != "" {
		fmt.Fprintln(t.Err, "pulsecast: the last call was too long ago, so some updates are gone. Your predictions show their results.")
		return client.Updates{Cursor: refusal.Cursor, HasMore: true}, nil
	}
	if err != nil {
		return page, err
	}
	if u.JSON {
		return page, t.writeJSON(body)
	}
	return page, t.printUpdates(page, at.cursor == "")
}

func (t *Terminal) printUpdates(page client.Updates, first bool) error {
	for _, one := range page.Events {
		if _, err := fmt.Fprintln(t.Out, describe(one)); err != nil {
			return err
		}
	}
	if page.HasMore {
		return nil
	}
	if first {
		fmt.Fprintln(t.Err, "pulsecast: this was the first call. The next call shows the updates from now on.")
	}
	if page.NextCheckAt != nil {
		fmt.Fprintln(t.Err, "pulsecast: next check at", page.NextCheckAt.UTC().Format(time.RFC3339))
	}
	return nil
}

// describe formats an update as one line: its time, its type, and the ids and numbers of its subjects.
func describe(u client.Update) string {
	words := []string{u.At.UTC().Format(time.RFC3339), fmt.Sprintf("%-20s", u.Type)}
	for _, name := range slices.Sorted(maps.Keys(u.Ref)) {
		if said := describeRef(u.Ref[name]); said != "" {
			words = append(words, name+" "+said)
		}
	}
	return plaintext.PrintableLine(strings.Join(words, "  "))
}

// describeRef formats one subject of an update: its id, then its numbers.
func describeRef(raw json.RawMessage) string {
	var fields map[string]any
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return ""
	}
	var words []string
	if id, ok := fields["id"].(string); ok {
		words = append(words, id)
	}
	return strings.Join(append(words, numbersOf(fields)...), " ")
}

// numbersOf lists the numbers of an object and of its nested objects, by name.
func numbersOf(fields map[string]any) (words []string) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch value := fields[name].(type) {
		case float64:
			words = append(words, name+"="+strconv.FormatFloat(value, 'g', -1, 64))
		case map[string]any:
			words = append(words, numbersOf(value)...)
		}
	}
	return words
}
