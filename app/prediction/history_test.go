package prediction_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// history is a made-up past of the service, written in a few statements. Agent 1 published a third of the
// predictions, and market 1 has a quarter of them. Categories are c0 to c7, and rare. Every tenth prediction is
// open, and one in 5,000 is void. The words are common (in every prediction), half, percent, rare (one in
// 10,000) and w0 to w999.
type history struct {
	agents, markets int
	start           time.Time
	step            time.Duration // between two predictions
}

var past = history{agents: 200, markets: 500, start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), step: 27 * time.Second}

func historyAgent(n int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("0198bbbb-0000-7000-8000-%012x", n))
}

// SQL that differs between the two databases. ?0 and ?1 are the first and the last number, ?2 is the start of
// the history and ?3 its step, both in milliseconds. ?4 is the number of agents, ?5 the number of markets.
var (
	onPostgres = []string{
		"{numbers}", "generate_series(?0::bigint, ?1) AS n",
		"{id}", "(lpad(to_hex((?2 + n * ?3)::bigint), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid",
		"{agent}", "('0198bbbb000070008000' || lpad(to_hex({by}), 12, '0'))::uuid",
		"{nth agent}", "('0198bbbb000070008000' || lpad(to_hex(n), 12, '0'))::uuid", "{start}", "to_timestamp(?2 / 1000)",
		"{at}", "to_timestamp((?2 + n * ?3) / 1000)", "{later}", "to_timestamp((?2 + n * ?3) / 1000 + 172800)",
	}
	onSQLite = []string{
		"{numbers}", "(WITH RECURSIVE numbers (n) AS (SELECT ?0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1) SELECT n FROM numbers) AS numbers",
		"{id}", "printf('%08x-%04x-7000-8000-%012x', (?2 + n * ?3) >> 16, (?2 + n * ?3) & 65535, n)",
		"{agent}", "printf('0198bbbb-0000-7000-8000-%012x', {by})",
		"{nth agent}", "printf('0198bbbb-0000-7000-8000-%012x', n)", "{start}", "strftime('%Y-%m-%d %H:%M:%S', ?2 / 1000, 'unixepoch') || '+00:00'",
		"{at}", "strftime('%Y-%m-%d %H:%M:%S', (?2 + n * ?3) / 1000, 'unixepoch') || '+00:00'",
		"{later}", "strftime('%Y-%m-%d %H:%M:%S', (?2 + n * ?3) / 1000 + 172800, 'unixepoch') || '+00:00'",
	}
	onBoth = []string{
		"{by}", "CASE WHEN n % 3 = 0 THEN 1 ELSE 1 + n * 7919 % ?4 END",
		"{market}", "'m' || CASE WHEN n % 4 = 0 THEN 1 ELSE 1 + n * 104729 % ?5 END",
		"{category}", "CASE WHEN n % 5000 = 3 THEN 'rare' ELSE 'c' || (n % 8) END",
		"{open}", "n % 10 = 9", "{void}", "n % 5000 = 17",
		"{title}", "'Common w' || (n % 1000) || CASE WHEN n % 2 = 0 THEN ' half' ELSE '' END" +
			" || CASE WHEN n % 100 = 0 THEN ' percent' ELSE '' END || CASE WHEN n % 10000 = 0 THEN ' rare' ELSE '' END",
		"{thesis}", "'a made up thesis of some twenty words that all say the same so that the index has something to hold ' || n",
	}
)

// write is fill for a test.
func (h history) write(t testing.TB, db *database.DB, from, to int) {
	t.Helper()
	if err := h.fill(t.Context(), db, from, to); err != nil {
		t.Fatal(err)
	}
}

// index makes the predictions from a number on searchable.
func (h history) index(ctx context.Context, db *database.DB, from int) error {
	const most = 2000
	after := ""
	if from > 1 {
		after = h.id(from - 1)
	}
	for looked := most; looked == most; {
		err := db.InTx(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
			after, looked, err = prediction.IndexWords(ctx, tx, after, most)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// id returns the id of a prediction.
func (h history) id(n int) string {
	ms := h.start.Add(h.step * time.Duration(n)).UnixMilli()
	return fmt.Sprintf("%08x-%04x-7000-8000-%012x", ms>>16, ms&0xffff, n)
}

// fill adds the predictions with the numbers from..to. The first call must begin with 1.
func (h history) fill(ctx context.Context, db *database.DB, from, to int) error {
	dialect := strings.NewReplacer(onSQLite...)
	if db.Kind == database.Postgres {
		dialect = strings.NewReplacer(onPostgres...)
	}
	both := strings.NewReplacer(onBoth...)
	add := func(from, to int, queries ...string) error {
		for _, query := range queries {
			query = both.Replace(dialect.Replace(query))
			if _, err := db.ExecContext(ctx, query, from, to, h.start.UnixMilli(), h.step.Milliseconds(), h.agents, h.markets); err != nil {
				return fmt.Errorf("%s: %w", query, err)
			}
		}
		return nil
	}
	if from == 1 {
		err := errors.Join(
			add(1, h.agents, `INSERT INTO agents (id, handle, name, kind, status, sample, created_at)
				SELECT {nth agent}, 'past-' || n, 'Past', 'agent', 'active', FALSE, {start} FROM {numbers}`),
			add(1, h.markets, `INSERT INTO markets (id, source, question, title, category, outcomes, active, closed, scalar, match_key, search_text, first_seen_at, observed_at, sample)
				SELECT 'm' || n, 'past', 'm' || n, 'm' || n, 'c0', '["Yes","No"]', TRUE, FALSE, FALSE, 'm' || n, 'm' || n, {start}, {start}, FALSE FROM {numbers}`))
		if err != nil {
			return err
		}
	}
	err := add(from, to,
		`INSERT INTO predictions (agent_id, id, title, thesis, confidence, horizon_at, category, model, evidence, market_id, outcome,
				outcome_index, event_key, hidden, sample, created_at)
			SELECT {agent}, {id}, {title}, {thesis}, 0.5, {later}, {category}, '', '[]', {market}, 'Yes', 0, 'e:' || {market}, FALSE, FALSE, {at}
			FROM {numbers}`,
		`INSERT INTO results (agent_id, id, market_id, horizon_at, sample, created_at, baseline_state, status, resolved_at, edge)
			SELECT {agent}, {id}, {market}, {later}, FALSE, {at}, 'fixed', CASE WHEN {open} THEN 'open' WHEN {void} THEN 'void' ELSE 'resolved' END,
				CASE WHEN {open} THEN NULL ELSE {later} END, CASE WHEN {open} OR {void} THEN NULL ELSE n * 7919 % 200000 - 100000 END
			FROM {numbers}`)
	if err == nil {
		err = h.index(ctx, db, from)
	}
	if err == nil && db.Kind == database.Postgres {
		_, err = db.ExecContext(ctx, "VACUUM ANALYZE")
	}
	return err
}
