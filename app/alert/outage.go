package alert

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// outageEvery is the time between two checks of the database.
	outageEvery = time.Second
	// outagePatience is how long the database must be unusable before a message is sent. A
	// restart takes a few seconds.
	outagePatience = 15 * time.Second
)

// OutageOptions are what an Outage needs. All but Pause are required.
type OutageOptions struct {
	Log     *slog.Logger
	Now     func() time.Time
	Webhook string // address that messages are posted to
	BaseURL string // address of the service, which every message names
	// Check returns why the database can't be read or written; nil if it can.
	Check func(ctx context.Context) error
	Pause time.Duration // see Options
}

// Outage sends a message if the database can't be used or takes no writes, and another once it is
// back. Its state is in memory, so each node reports what it sees, and reports it again after a
// restart.
type Outage struct {
	OutageOptions
	webhook *webhook
	row     alertRow // its Since is zero if there is no outage

	stop    context.CancelFunc
	running sync.WaitGroup
}

// NewOutage returns an Outage.
func NewOutage(o OutageOptions) *Outage {
	return &Outage{OutageOptions: o, webhook: newWebhook(o.Webhook, o.Pause)}
}

// Start checks the database every second until Stop.
func (o *Outage) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	o.stop = cancel
	o.running.Go(func() {
		tick := time.NewTicker(outageEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				o.Tick(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
}

// Stop ends the checks.
func (o *Outage) Stop() {
	o.stop()
	o.running.Wait()
}

// Tick checks once and sends a message if one is due. If the delivery fails, the next tick repeats
// it.
func (o *Outage) Tick(ctx context.Context) {
	now := o.Now()
	err := o.Check(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil && o.row.Since.IsZero():
		o.row = alertRow{Name: "database", Firing: true, Since: now, Text: "the database can't be used or takes no writes"}
	case err != nil && !o.row.Told && now.Sub(o.row.Since) >= outagePatience:
		o.row.Told = o.deliver(ctx)
	case err == nil && !o.row.Told:
		o.row = alertRow{}
	case err == nil:
		o.row.Firing, o.row.OverAt = false, now
		if o.deliver(ctx) {
			o.row = alertRow{}
		} else {
			o.row.Firing = true
		}
	}
}

func (o *Outage) deliver(ctx context.Context) bool {
	err := o.webhook.post(ctx, newMessage(o.BaseURL, o.row))
	if err != nil {
		o.Log.Warn("alert not delivered", "alert", o.row.Name, "error", err)
	}
	return err == nil
}
