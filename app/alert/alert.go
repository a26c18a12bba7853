package alert

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/monitor"
)

// Interval is how often the conditions are checked.
const Interval = 30 * time.Second

// Options are what a Watcher needs.
type Options struct {
	DB      *database.DB
	Log     *slog.Logger
	Now     func() time.Time
	Webhook string // address that messages are posted to
	BaseURL string // address of the service, which every message names
	Monitor *monitor.Monitor
	// Pause is the wait before the second attempt of a delivery. The wait before the third is
	// longer. Zero means one second.
	Pause time.Duration
}

// Watcher checks the conditions and reports changes to the webhook. Its Tick is a job of
// the worker, so one node runs it at a time.
type Watcher struct {
	Options
	webhook *webhook
	held    map[string]int // number of ticks in a row for which a condition has held
	ticked  time.Time      // when the last tick began
}

// New returns a Watcher.
func New(o Options) *Watcher {
	return &Watcher{Options: o, webhook: newWebhook(o.Webhook, o.Pause), held: map[string]int{}}
}

// Tick checks every condition once and delivers the changes. If a condition can't be read, its
// alert keeps its state.
func (w *Watcher) Tick(ctx context.Context) error {
	now := database.Stored(w.Now())
	if now.Sub(w.ticked) > 3*Interval { // another node has ticked in the meantime
		clear(w.held)
	}
	w.ticked = now
	rows, err := readAlerts(ctx, w.DB.Reader)
	if err != nil {
		return err
	}
	readings, err := w.look(ctx, now)
	errs := []error{err}
	for _, r := range readings {
		row, known := rows[r.name]
		next, keep := w.move(row, known, r, now)
		if keep {
			rows[r.name] = next
			if !known || next != row {
				errs = append(errs, saveAlert(ctx, w.DB, next))
			}
		} else if known {
			delete(rows, r.name)
			errs = append(errs, dropAlert(ctx, w.DB, r.name))
		}
	}
	return errors.Join(append(errs, w.tell(ctx, rows))...)
}

// move returns the next state of an alert by the table of the package comment, leaving out
// deliveries. keep is false if there is no alert after the tick.
func (w *Watcher) move(row alertRow, known bool, r reading, now time.Time) (next alertRow, keep bool) {
	if !r.holds {
		w.held[r.name] = 0
	} else {
		w.held[r.name]++
	}
	switch {
	case !known:
		return alertRow{Name: r.name, Firing: true, Since: now, Text: r.text}, r.holds && w.held[r.name] > r.patience
	case row.Firing && r.over:
		row.Firing, row.OverAt = false, now
		told := row.Told
		row.Told = false
		return row, told
	case !row.Firing && r.holds:
		row.Firing, row.Told, row.OverAt = true, true, time.Time{}
	case row.Firing && !row.Told && r.holds:
		row.Text = r.text // an undelivered message describes the latest reading
	}
	return row, true
}

// tell delivers the messages that are not delivered yet. After a failure it leaves the other
// messages to the next tick, because all go to the same address.
func (w *Watcher) tell(ctx context.Context, rows map[string]alertRow) error {
	for _, row := range inOrder(rows) {
		if row.Told {
			continue
		}
		if err := w.webhook.post(ctx, newMessage(w.BaseURL, row)); err != nil {
			return fmt.Errorf("alert %s not delivered: %w", row.Name, err)
		}
		w.Log.Info("alert delivered", "alert", row.Name, "firing", row.Firing, "since", row.Since)
		if err := w.noteTold(ctx, row); err != nil {
			return err
		}
	}
	return nil
}

// noteTold stores that a message was delivered, even if the process is stopping. Otherwise the
// message would be repeated.
func (w *Watcher) noteTold(ctx context.Context, row alertRow) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if !row.Firing {
		return dropAlert(ctx, w.DB, row.Name)
	}
	row.Told = true
	return saveAlert(ctx, w.DB, row)
}

// message is the body of a webhook request. Chat services show its text.
type message struct {
	Text  string    `json:"text"`
	Alert string    `json:"alert"`
	State string    `json:"state"` // "firing" or "resolved"
	Since time.Time `json:"since"` // when the alert began
}

func newMessage(base string, row alertRow) message {
	out := message{Alert: row.Name, State: "firing", Since: row.Since, Text: fmt.Sprintf(
		"Pulsecast at %s: %s. %s", base, row.Text, advice[row.Name],
	)}
	if !row.Firing {
		out.State = "resolved"
		out.Text = fmt.Sprintf(
			"Pulsecast at %s: resolved after %s. The alert was: %s.", base, spell(row.OverAt.Sub(row.Since)), row.Text,
		)
	}
	return out
}
