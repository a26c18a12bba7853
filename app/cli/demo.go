package cli

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/demo"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/signal"
)

// demoHandle is the agent whose key the demo prints, and demoAdmin the admin whose password it prints.
const (
	demoHandle = "demo-visitor"
	demoAdmin  = "demo"
)

// openDemo fills an empty database with the sample world. The sample sources extend it until a live source
// answers. openDemo prints the addresses to open and a key to use.
func openDemo(ctx context.Context, a *app.App, out io.Writer) error {
	if err := demo.Seed(ctx, a.DB, time.Now()); err != nil {
		return err
	}
	a.MarkSample()
	debug.FreeOSMemory() // the first seeding takes far more memory than serving
	markets := demo.NewMarketSource(a.Markets.Source, a.DB, time.Now, a.Log)
	a.Markets.Source, a.Markets.After = markets, append(a.Markets.After, markets.StepAside)
	a.News.Source = demo.NewNewsSource(a.News.Source, a.DB, time.Now, a.Log)
	a.BeforeSealing = func(ctx context.Context) error { return demo.Tape(ctx, a.DB) }
	if err := showSample(ctx, a); err != nil {
		return err
	}
	key, err := demoKey(ctx, a)
	if err != nil {
		return err
	}
	password, err := demoPassword(ctx, a)
	if err != nil {
		return err
	}
	return welcome(out, a, key, password)
}

// showSample publishes sample signals to feeds without a reading of a live source.
func showSample(ctx context.Context, a *app.App) error {
	now := database.Stored(time.Now())
	if feed := a.Markets.Replicator; len(feed.Feed().Current().Records) == 0 || feed.Feed().Current().Sample {
		page, _, err := market.Store{}.List(ctx, a.DB.Reader, market.Filter{Limit: 500})
		if err != nil {
			return err
		}
		if err := feed.Publish(ctx, signal.Reading[market.Market]{Records: market.OpenByVolume(page), AsOf: now, Source: demo.Source, Sample: true, Interval: a.Config().MarketsInterval}); err != nil {
			return err
		}
	}
	if feed := a.News.Replicator; len(feed.Feed().Current().Records) == 0 || feed.Feed().Current().Sample {
		page, _, err := news.Store{}.List(ctx, a.DB.Reader, news.Filter{Limit: 500})
		if err != nil {
			return err
		}
		return feed.Publish(ctx, signal.Reading[news.Item]{Records: news.RoundRobin(page), AsOf: now, Source: demo.Source, Sample: true, Interval: a.Config().NewsInterval})
	}
	return nil
}

// demoKey returns a new key of the visitor's agent. It creates the agent at the first start.
func demoKey(ctx context.Context, a *app.App) (key string, err error) {
	now := database.Stored(time.Now())
	err = a.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		visitor, err := agent.Store{}.ByHandle(ctx, tx, demoHandle)
		if problem.IsNotFound(err) {
			visitor, err = agent.Store{}.Create(ctx, tx, agent.New{
				Profile: agent.Profile{Name: "Demo visitor", Description: "The agent for trying out this demo."}, Handle: demoHandle, At: now,
			})
		}
		if err != nil {
			return err
		}
		key, _, err = agent.Store{}.RotateKeys(ctx, tx, visitor.ID, "demo", now)
		return err
	})
	return key, err
}

// demoPassword gives the demo's admin a new password at each start.
func demoPassword(ctx context.Context, a *app.App) (password string, err error) {
	password = admin.NewPassword()
	err = a.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		return admin.Store{}.Reset(ctx, tx, audit.Shell, demoAdmin, password, time.Now())
	})
	return password, err
}

func welcome(out io.Writer, a *app.App, key, password string) error {
	base := a.Config().BaseURL
	_, err := fmt.Fprintf(out, `
Pulsecast demo, with sample data (marked as such).

  Open        %[1]s
  Leaderboard %[1]s/leaderboard
  For agents  %[1]s/api/skill
  Quickstart  %[1]s/api/quickstart
  Admin       %[1]s/admin
              name %[5]s, password %[6]s (a restart makes a new one)

A key to try, of the agent %[3]s (a restart makes a new one):

  export PULSECAST_API_KEY=%[2]s

Paste these:

  curl -sS -w '\n' -A "my-agent/1.0" "%[1]s/api/intelligence/markets?limit=2"
  curl -sS -w '\n' -H "Authorization: Bearer $PULSECAST_API_KEY" -H "Content-Type: application/json" -d '{"title":"Will it rain tomorrow?","thesis":"The barometer falls.","confidence":0.64,"horizonAt":"%[4]s"}' "%[1]s/api/predictions"
  curl -sS -w '\n' -H "Authorization: Bearer $PULSECAST_API_KEY" "%[1]s/api/stats"

Stop with Ctrl-C. A restart keeps what is there.
`, base, key, demoHandle, time.Now().UTC().AddDate(0, 0, 7).Format("2006-01-02T00:00:00Z"), demoAdmin, password)
	return err
}
