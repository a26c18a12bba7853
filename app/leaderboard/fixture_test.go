package leaderboard_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

// start is the moment at which the tests begin.
var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

var thresholds = leaderboard.Thresholds{Events: 30, CategoryEvents: 15, Days: 14}

// clock is a clock that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// world is a database in which a test writes what settlement would write.
type world struct {
	t       *testing.T
	db      *database.DB
	clock   *clock
	builder *leaderboard.Builder
	store   *leaderboard.Store
	serial  int
}

func newWorld(t *testing.T, db *database.DB) *world {
	c := &clock{at: start}
	return &world{t: t, db: db, clock: c,
		builder: leaderboard.NewBuilder(db, thresholds, c.now), store: leaderboard.NewStore(thresholds, c.now)}
}

func (w *world) exec(query string, args ...any) {
	w.t.Helper()
	if _, err := w.db.ExecContext(w.t.Context(), query, args...); err != nil {
		w.t.Fatal(err)
	}
}

// moved moves topics, as what exec wrote would.
func (w *world) moved(topics ...generation.Topic) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), func(ctx context.Context, tx bun.Tx) error { return generation.Move(ctx, tx, topics...) })
	if err != nil {
		w.t.Fatal(err)
	}
}

// agent describes an agent for a test. days is the number of days on which it published.
type agent struct {
	handle, model, issuer, owner string
	days                         int
}

func (w *world) agent(a agent) uuid.UUID {
	w.t.Helper()
	w.serial++
	id := uuid.MustParse(fmt.Sprintf("0198aaaa-0000-7000-8000-%012d", w.serial))
	var issuer, owner any
	if a.issuer != "" {
		issuer = a.issuer
	}
	if a.owner != "" {
		owner = a.owner
	}
	w.exec(`INSERT INTO agents (id, handle, name, model, kind, status, issuer, owner, sample, created_at)
		VALUES (?, ?, ?, ?, 'agent', 'active', ?, ?, ?, ?)`, id, a.handle, strings.ToUpper(a.handle), a.model, issuer, owner, false, start)
	if a.days > 0 {
		w.exec(`INSERT INTO agent_tallies (agent_id, total, open, resolved, void, publication_days, last_published_at)
			VALUES (?, ?, 0, ?, 0, ?, ?)`, id, a.days, a.days, a.days, start.Add(-time.Hour))
		w.moved(generation.Predictions)
	}
	return id
}

// days adds n clusters with the same value in points and n disagreements, on one day of one
// category.
func (w *world) days(id uuid.UUID, category, day string, n int, points float64) {
	w.t.Helper()
	c := int64(points * 10_000)
	bins := map[string]int64{"b7_count": int64(n), "b7_confidence": int64(n) * 700_000_000, "b7_observed": int64(n) * 600_000_000}
	columns, values := []string{}, []any{}
	for i := range score.BinCount {
		for _, kind := range []string{"count", "confidence", "observed"} {
			name := fmt.Sprintf("b%d_%s", i, kind)
			columns, values = append(columns, name), append(values, bins[name])
		}
	}
	marks := strings.Repeat(", ?", len(columns))
	plain := []string{
		"clusters", "cluster_sum", "cluster_squares", "stake", "variance", "disagreements",
		"resolved", "scored", "brier", "market_brier", "log_edge",
	}
	columns = append(plain, columns...)
	sets := make([]string, len(columns))
	for i, name := range columns {
		sets[i] = name + " = d." + name + " + EXCLUDED." + name
	}
	query := `INSERT INTO agent_days AS d (agent_id, category, day, ` + strings.Join(columns, ", ") + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?` + marks + `)
		ON CONFLICT (agent_id, category, day) DO UPDATE SET ` + strings.Join(sets, ", ")
	w.exec(query, append([]any{id, category, day, n, int64(n) * c, int64(n) * c * c,
		int64(n) * stake, int64(n) * spread * spread, n, n, n,
		int64(n) * 20_000_000, int64(n) * 22_000_000, int64(n) * 50_000}, values...)...)
	w.exec(`INSERT INTO agent_days AS d (agent_id, category, day, clusters, cluster_sum) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (agent_id, category, day) DO UPDATE
		SET clusters = d.clusters + EXCLUDED.clusters, cluster_sum = d.cluster_sum + EXCLUDED.cluster_sum`,
		id, leaderboard.AllCategories, day, n, int64(n)*c)
}

// unlinked adds a settled prediction without a market.
func (w *world) unlinked(id uuid.UUID, label, day string) {
	w.t.Helper()
	w.days(id, label, day, 1, 0)
	w.exec(`UPDATE agent_days SET clusters = 0, cluster_squares = 0, stake = 0, variance = 0, disagreements = 0, scored = 0,
		brier = 0, market_brier = 0, log_edge = 0 WHERE agent_id = ? AND category = ? AND day = ?`, id, label, day)
	w.exec("UPDATE agent_days SET clusters = clusters - 1 WHERE agent_id = ? AND category = '' AND day = ?", id, day)
}

// spreadDays adds a cluster of the same value in points on each of the n days up to 2026-11-01.
func (w *world) spreadDays(id uuid.UUID, category string, n int, points float64) {
	w.t.Helper()
	last := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		w.days(id, category, last.AddDate(0, 0, -i).Format(time.DateOnly), 1, points)
	}
}

// The stake and the spread of each cluster that days adds, in 1/10,000 of a point.
const stake, spread = 10_000, 95_394

// settle writes a ledger entry, so that the Builder builds the agent's boards.
func (w *world) settle(id uuid.UUID, category string) {
	w.t.Helper()
	p := database.NewID(w.clock.now())
	w.add(&prediction.Prediction{ID: p, AgentID: id, Title: "q", Confidence: .7, HorizonAt: start, Category: category,
		BaselineState: prediction.Unlinked, Status: prediction.Resolved, CreatedAt: start})
	w.exec(`INSERT INTO score_entries (id, prediction_id, seq, kind, agent_id, value, source, brier, category, rules_version, created_at)
		VALUES (?, ?, 1, 'score', ?, 1, 'admin', 0.09, ?, '1', ?)`, database.NewID(w.clock.now()), p, id, category, w.clock.now())
}

func (w *world) add(p *prediction.Prediction) {
	w.t.Helper()
	if err := prediction.Add(w.t.Context(), w.db, p); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) tick() bool {
	w.t.Helper()
	built, err := w.builder.Tick(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return built
}

func (w *world) page(f leaderboard.Filter) *leaderboard.Page {
	w.t.Helper()
	f.Limit = cmp.Or(f.Limit, 100)
	p, err := w.store.Read(w.t.Context(), w.db.Reader, f)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// board renders a board as "rank handle" lines, "-" for no rank.
func (w *world) board(f leaderboard.Filter) []string {
	w.t.Helper()
	var lines []string
	for _, e := range w.page(f).Entries {
		lines = append(lines, line(e))
	}
	return lines
}

func line(e leaderboard.Entry) string {
	if e.Rank == nil {
		return "- " + e.Handle
	}
	return fmt.Sprintf("%d %s", *e.Rank, e.Handle)
}

func (w *world) wantBoard(f leaderboard.Filter, want ...string) {
	w.t.Helper()
	if got := w.board(f); !slices.Equal(got, want) {
		w.t.Errorf("board %+v:\n got %q\nwant %q", f, got, want)
	}
}

func (w *world) entry(f leaderboard.Filter, handle string) leaderboard.Entry {
	w.t.Helper()
	for _, e := range w.page(f).Entries {
		if e.Handle == handle {
			return e
		}
	}
	w.t.Fatalf("%s is not on board %+v", handle, f)
	return leaderboard.Entry{}
}

// dump renders whole rows, to compare tables.
func (w *world) dump(query string) string {
	w.t.Helper()
	rows, err := w.db.Reader.QueryContext(w.t.Context(), query)
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		w.t.Fatal(err)
	}
	values, fields := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		fields[i] = &values[i]
	}
	var b strings.Builder
	for rows.Next() {
		if err := rows.Scan(fields...); err != nil {
			w.t.Fatal(err)
		}
		fmt.Fprintln(&b, values)
	}
	if err := rows.Err(); err != nil || b.Len() == 0 {
		w.t.Fatalf("%d bytes, %v", b.Len(), err)
	}
	return b.String()
}

func dur(hours float64) time.Duration { return time.Duration(hours * float64(time.Hour)) }

func parseDay(day string) (time.Time, error) {
	at, err := time.Parse(time.DateOnly, day)
	return at.Add(12 * time.Hour), err
}
