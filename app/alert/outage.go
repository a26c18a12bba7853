package alert

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// outageEvery is the time between two looks at the database, and outagePatience how long it
	// must have been unusable before anyone is told: a restart takes a few seconds.
	outageEvery    = time.Second
	outagePatience = 15 * time.Second
)

// OutageOptions are what an Outage needs. All but Pause are required.
type OutageOptions struct {
	Log     *slog.Logger
	Now     func() time.Time
	Webhook string // where messages are posted
	BaseURL string // of the service, named in every text
	// Check returns why the database can't be read or written; nil if it can.
	Check func(ctx context.Context) error
	Pause time.Duration // as in Options
}

// Outage tells of a database that can't be used, or takes no writes. It needs no database for
// that, so each node tells of its own outage, and again if it restarts in the midst of one.
type Outage struct {
	OutageOptions
	webhook *webhook
	row     alertRow // its Since is zero while all is well

	stop    context.CancelFunc
	running sync.WaitGroup
}

// NewOutage returns an Outage.
func NewOutage(o OutageOptions) *Outage {
	return &Outage{OutageOptions: o, webhook: newWebhook(o.Webhook, o.Pause)}
}

// Start looks every second until Stop.
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

// Stop ends what Start began.
func (o *Outage) Stop() {
	o.stop()
	o.running.Wait()
}

// Tick looks once and delivers what is to be told. A message that isn't delivered is tried again
// by the next tick.
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
