package replay

import (
	"context"
	"log/slog"
	"net"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/source"
)

// recordedSource returns the test markets as they are at the clock's time.
type recordedSource struct{ now func() time.Time }

func (s recordedSource) at(i int) market.Market {
	now := s.now()
	var m market.Market
	facts := factsRow(i, now)
	factsOf(&m, &facts)
	row := priceRow(i, now)
	var one series
	one.add(&row)
	priced(&m, &one, 0)
	if end := closing(i); !staysOpen(i) && !now.Before(end) {
		m.Closed, m.ClosedAt, m.Prices, m.Resolution, m.BestBid, m.BestAsk = true, end, happens(i), "resolved", nil, nil
	}
	return m
}

func (s recordedSource) Top(context.Context, int) (source.Markets, error) {
	got := source.Markets{ObservedAt: s.now()}
	for i := range recordedMarkets {
		got.Markets = append(got.Markets, s.at(i))
	}
	return got, nil
}

func (s recordedSource) ByID(context.Context, []string) (source.Markets, error) {
	return source.Markets{ObservedAt: s.now()}, nil
}

func (s recordedSource) Events(context.Context, []string) (source.Events, error) {
	return source.Events{}, nil
}

func (s recordedSource) Winner(context.Context, *market.Market) (int, bool, error) {
	return 0, false, nil
}

// TestLiveAndReplay checks that a replay gives the same record as the live service. An agent
// publishes while a service reads, archives and settles for several days. Its predictions are then
// replayed from the archive at the same moments. Every number must be exactly equal.
func TestLiveAndReplay(t *testing.T) {
	t.Parallel()
	var clock atomic.Pointer[time.Time]
	set := func(at time.Time) { clock.Store(&at) }
	set(firstDay)
	now := func() time.Time { return *clock.Load() }
	folder := archive.OpenFolder(t.TempDir())
	a, c, key := live(t, now)
	list := draftsFrom(firstDay.AddDate(0, 0, 1).Add(20 * time.Minute)) // the first baseline needs prices of the first day
	live := map[string]publishedAnswer{}
	for _, step := range liveSteps(list) {
		set(step.at)
		if step.draft != nil {
			p := read[publishedAnswer](c, "POST", "/api/predictions", key, step.draft.body())
			live[step.draft.body()+p.Prediction.CreatedAt.String()] = p
			continue
		}
		if _, err := a.Markets.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	set(lastEnd.Add(time.Hour))
	sealer := &archive.Sealer{DB: a.DB, Storage: folder, Now: now, Log: slog.New(slog.DiscardHandler)}
	for d := range recordedDays {
		if err := sealer.Seal(t.Context(), archive.DayOf(firstDay.AddDate(0, 0, d))); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Boards.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	lived := recordOf(t, a, now)

	replayed, _ := serve(t, folder, t.TempDir())
	run := replayed.makeRun(`{"name":"Alpha"}`)
	for _, f := range list {
		replayed.publish(run, f)
	}
	r := replayed.report(run)
	if r.Overall.Resolved == 0 || r.Predictions.NoBaseline > 0 {
		t.Errorf("replayed: %+v, %+v", r.Overall, r.Predictions)
	}
	if !reflect.DeepEqual(r.Overall, lived.Overall) || !reflect.DeepEqual(r.Calibration, lived.Calibration) ||
		!reflect.DeepEqual(r.Categories, lived.Categories) || !reflect.DeepEqual(r.Horizons, lived.Horizons) {
		t.Errorf("replayed\n%+v %+v\nlive\n%+v %+v", r.Overall, r.Categories, lived.Overall, lived.Categories)
	}
	for i := range lived.List {
		l, p := lived.List[i], r.List[i]
		l.ID, p.ID = "", ""
		if !reflect.DeepEqual(l, p) {
			t.Errorf("replayed\n%+v\nlive\n%+v", p, l)
		}
	}
	if len(live) != len(list) || len(lived.List) != len(r.List) {
		t.Errorf("%d predictions published live, %d recorded, %d replayed", len(live), len(lived.List), len(r.List))
	}
}

// draftsFrom returns the drafts, moved so that the first is published at a moment.
func draftsFrom(first time.Time) []draft {
	list := drafts()
	later := first.Sub(list[0].at)
	for i := range list {
		list[i].at = list[i].at.Add(later)
	}
	return list
}

// liveStep is a reading or a publication.
type liveStep struct {
	at    time.Time
	draft *draft
}

// liveSteps returns a reading for each hour and several around each publication.
func liveSteps(list []draft) (steps []liveStep) {
	for at := firstDay; at.Before(lastEnd); at = at.Add(time.Hour) {
		steps = append(steps, liveStep{at, nil})
	}
	for i := range list {
		for _, wait := range []time.Duration{-50 * time.Minute, -time.Minute, 3 * time.Minute, 6 * time.Minute} {
			steps = append(steps, liveStep{list[i].at.Add(wait), nil})
		}
		steps = append(steps, liveStep{list[i].at, &list[i]})
	}
	slices.SortStableFunc(steps, func(a, b liveStep) int { return a.at.Compare(b.at) })
	return steps
}

// live starts a service with a test clock and an agent.
func live(t *testing.T, now func() time.Time) (a *app.App, c *client, key string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Addr, cfg.LogFormat, cfg.Drain = ln.Addr().String(), "off", 0
	cfg.DatabaseURL, cfg.ArchiveURL = "sqlite://"+t.TempDir()+"/live.db", "file://"+t.TempDir()
	a, err = app.New(t.Context(), cfg, app.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	a.Markets.Source = recordedSource{now}
	made, err := agent.Store{}.Create(t.Context(), a.DB, agent.New{Profile: agent.Profile{Name: "Alpha"}, At: now()})
	if err != nil {
		t.Fatal(err)
	}
	if key, _, err = (agent.Store{}).IssueKey(t.Context(), a.DB, made.ID, "", now()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a, &client{t, a.Config().BaseURL}, key
}

// recordOf reads the agent's record from the live service, as a report does.
func recordOf(t *testing.T, a *app.App, now func() time.Time) Report {
	t.Helper()
	cfg := a.Config()
	found, err := agent.Store{}.ByHandle(t.Context(), a.DB.Reader, "alpha")
	if err != nil {
		t.Fatal(err)
	}
	r := &record{db: a.DB, store: leaderboard.NewStore(leaderboard.ThresholdsOf(&cfg), now)}
	m := &made{}
	if err := r.read(t.Context(), &Run{Agent: found.ID}, m); err != nil {
		t.Fatal(err)
	}
	return m.report
}
