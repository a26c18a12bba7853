package replay

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/release"
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

func (s recordedSource) Events(context.Context, []string) ([]market.Event, error) {
	return nil, nil
}

func (s recordedSource) Winner(context.Context, *market.Market) (int, bool, error) {
	return 0, false, nil
}

// TestLiveAndReplay checks that a replay gives the same record as the live service, whatever the settings of the replay.
// An agent publishes while a service reads, archives and settles for several days, and its settings change at a
// midnight. Its predictions are then replayed from the archive at the same moments. Every number must be exactly equal.
func TestLiveAndReplay(t *testing.T) {
	t.Parallel()
	list := draftsFrom(firstDay.AddDate(0, 0, 1).Add(20 * time.Minute)) // the first baseline needs prices of the first day
	lived, folder := live(t, list, firstDay.AddDate(0, 0, 2))
	replayed, _ := serve(t, folder, t.TempDir(), func(cfg *config.Config) {
		cfg.MarketsInterval, cfg.RankedMinLiquidity = time.Hour, 6000 // more than any market has
	})
	run := replayed.makeRun(`{"name":"Alpha"}`)
	for _, f := range list {
		replayed.publish(run, f)
	}
	r := replayed.report(run)
	if r.Overall.Resolved == 0 || r.Predictions.NoBaseline != lived.Predictions.NoBaseline {
		t.Errorf("replayed: %+v, %+v; live: %+v", r.Overall, r.Predictions, lived.Predictions)
	}
	if !reflect.DeepEqual(r.Overall, lived.Overall) || !reflect.DeepEqual(r.Calibration, lived.Calibration) ||
		!reflect.DeepEqual(r.Categories, lived.Categories) || !reflect.DeepEqual(r.Horizons, lived.Horizons) {
		t.Errorf("replayed\n%+v %+v\nlive\n%+v %+v", r.Overall, r.Categories, lived.Overall, lived.Categories)
	}
	if len(lived.List) != len(list) || len(r.List) != len(list) {
		t.Fatalf("%d predictions published, %d recorded live, %d replayed", len(list), len(lived.List), len(r.List))
	}
	for i := range lived.List {
		l, p := lived.List[i], r.List[i]
		l.ID, p.ID = "", ""
		if !reflect.DeepEqual(l, p) {
			t.Errorf("replayed\n%+v\nlive\n%+v", p, l)
		}
	}
	pairs := read[planned](replayed, "POST", "/r/plan", "", `{"n":5,"seed":1}`).Pairs
	if len(pairs) != 5 {
		t.Errorf("a plan has %d pairs, want 5", len(pairs))
	}
}

// TestRecomputeAfterAChange checks that the baselines of a day are recomputed exactly although settings changed at noon.
func TestRecomputeAfterAChange(t *testing.T) {
	t.Parallel()
	list := draftsFrom(firstDay.AddDate(0, 0, 1).Add(7 * time.Minute))
	_, folder := live(t, list, firstDay.AddDate(0, 0, 1).Add(12*time.Hour))
	r, err := release.Recompute(t.Context(), folder, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if b := r.Baselines; b.Same == 0 || b.Missing > 0 || len(r.Differences) > 0 {
		t.Errorf("recomputed %+v, %d differences: %.3q", b, len(r.Differences), r.Differences)
	}
}

// live publishes drafts while a service reads, settles and seals the recorded days. At the moment of change, it is
// restarted with other settings. live returns the agent's record and the archive.
func live(t *testing.T, list []draft, change time.Time) (lived Report, folder *archive.Folder) {
	t.Helper()
	l := &liveService{t: t, folder: archive.OpenFolder(t.TempDir()), unsealed: firstDay, cfg: config.Default()}
	l.set(firstDay)
	l.cfg.Addr, l.cfg.LogFormat, l.cfg.Drain = "127.0.0.1:0", "off", 0
	l.cfg.DatabaseURL, l.cfg.ArchiveURL = "sqlite://"+t.TempDir()+"/live.db", "file://"+t.TempDir()
	l.cfg.MarketsInterval = 10 * time.Minute
	l.start()
	key := l.makeAgent()
	for _, step := range liveSteps(list) {
		for day := l.unsealed; !step.at.Before(day.AddDate(0, 0, 1)); day = l.unsealed {
			l.seal(day)
		}
		l.set(step.at)
		if changed := l.cfg.MarketsInterval == time.Minute; !changed && !step.at.Before(change) {
			l.stop()
			l.cfg.MarketsInterval, l.cfg.RankedMinLiquidity = time.Minute, 4000
			l.start()
		}
		if step.draft != nil {
			read[publishedAnswer](l.client, "POST", "/api/predictions", key, step.draft.body())
		} else if _, err := l.app.Markets.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l.set(lastEnd.Add(-time.Minute))
	if err := l.app.Boards.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.seal(l.unsealed)
	return recordOf(t, l.app, l.now), l.folder
}

// liveService is a service with a test clock. It is restarted on its database.
type liveService struct {
	t        *testing.T
	cfg      config.Config
	folder   *archive.Folder
	unsealed time.Time // the first day that isn't sealed
	clock    atomic.Pointer[time.Time]
	app      *app.App
	client   *client
	stop     func()
}

func (l *liveService) set(at time.Time) { l.clock.Store(&at) }

func (l *liveService) now() time.Time { return *l.clock.Load() }

// start starts the service. stop stops it.
func (l *liveService) start() {
	l.t.Helper()
	ln, err := net.Listen("tcp", l.cfg.Addr)
	if err != nil {
		l.t.Fatal(err)
	}
	cfg := l.cfg
	cfg.Addr = ln.Addr().String()
	a, err := app.New(l.t.Context(), cfg, app.Options{Now: l.now})
	if err != nil {
		l.t.Fatal(err)
	}
	a.Markets.Source = recordedSource{l.now}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx, ln) }()
	l.app, l.client = a, &client{l.t, a.Config().BaseURL}
	l.stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-done, a.Close()); err != nil {
			l.t.Error(err)
		}
	})
	l.t.Cleanup(l.stop)
}

// seal seals a day at its end.
func (l *liveService) seal(day time.Time) {
	l.t.Helper()
	l.unsealed = day.AddDate(0, 0, 1)
	l.set(l.unsealed)
	rules := &release.Exporter{DB: l.app.DB, Interval: l.cfg.MarketsInterval, MinLiquidity: float64(l.cfg.RankedMinLiquidity)}
	sealer := &archive.Sealer{DB: l.app.DB, Storage: l.folder, Exporters: []archive.Exporter{rules}, Now: l.now, Log: slog.New(slog.DiscardHandler)}
	if err := sealer.Seal(l.t.Context(), archive.DayOf(day)); err != nil {
		l.t.Fatal(err)
	}
}

// makeAgent returns the key of a new agent.
func (l *liveService) makeAgent() string {
	l.t.Helper()
	made, err := agent.Store{}.Create(l.t.Context(), l.app.DB, agent.New{Profile: agent.Profile{Name: "Alpha"}, At: l.now()})
	if err != nil {
		l.t.Fatal(err)
	}
	key, _, err := (agent.Store{}).IssueKey(l.t.Context(), l.app.DB, made.ID, "", l.now())
	if err != nil {
		l.t.Fatal(err)
	}
	return key
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

// liveSteps returns a reading for each hour and several around each publication. The last one before it is too old for an
// interval of a minute.
func liveSteps(list []draft) (steps []liveStep) {
	for at := firstDay; at.Before(lastEnd); at = at.Add(time.Hour) {
		steps = append(steps, liveStep{at, nil})
	}
	for i := range list {
		for _, wait := range []time.Duration{-50 * time.Minute, -5 * time.Minute, 3 * time.Minute, 6 * time.Minute} {
			steps = append(steps, liveStep{list[i].at.Add(wait), nil})
		}
		steps = append(steps, liveStep{list[i].at, &list[i]})
	}
	slices.SortStableFunc(steps, func(a, b liveStep) int { return a.at.Compare(b.at) })
	return steps
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
