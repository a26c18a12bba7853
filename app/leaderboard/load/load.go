// Package load fills an empty Postgres database with a large, made-up population, so that
// the cost of reading boards can be measured at any size. The agents differ in skill. Every
// number on a board follows from the predictions, as after a real settlement. So do the clusters and
// the ledger. Ten markets in a row share an event, and the first markets have prices.
package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/score"
)

// Run adds the given numbers of agents and predictions, dated up to at. Each agent forecasts
// different markets, on neighbouring days and in few categories. Every tenth prediction is open.
// Run returns an error for SQLite, for a database that has agents, and for less than one prediction
// per agent.
func Run(ctx context.Context, db *database.DB, agents, predictions int, at time.Time) error {
	if db.Kind != database.Postgres {
		return errors.New("load: needs Postgres; set DATABASE_URL to postgres://…")
	}
	if agents < 1 || predictions < agents {
		return fmt.Errorf("load: needs at least one agent and one prediction for each agent, got %d agents and %d predictions", agents, predictions)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	defer conn.Close()
	l := loader{conn: conn, agents: agents, predictions: predictions,
		markets: max(2000, 2*(predictions/agents+1)), at: database.Stored(at)}
	if err := l.run(ctx); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	return nil
}

type loader struct {
	conn                         bun.Conn
	agents, predictions, markets int
	at                           time.Time
}

func (l *loader) exec(ctx context.Context, query string, args ...any) error {
	_, err := l.conn.ExecContext(ctx, query, args...)
	return err
}

func (l *loader) run(ctx context.Context) error {
	var taken bool
	err := l.conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM agents WHERE kind = 'agent')").Scan(&taken)
	if err != nil {
		return err
	}
	if taken {
		return errors.New("the database has agents already; give it an empty one")
	}
	for _, step := range []func(context.Context) error{
		l.addAgents, l.addMarkets,
		l.withoutIndexes("predictions", l.copyTo("predictions", predictionColumns, record.prediction)),
		l.withoutIndexes("results", l.copyTo("results", resultColumns, record.result)),
		l.withoutIndexes("agent_days", l.addDays), l.addTallies,
		l.withoutIndexes("clusters", l.addClusters), l.addLedger,
		l.withoutIndexes("market_prices", l.addPrices),
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return l.exec(ctx, "ANALYZE")
}

const agentID = `('0198bbbb-0000-7000-8000-' || lpad(to_hex(a), 12, '0'))::uuid`

func (l *loader) addAgents(ctx context.Context) error {
	return l.exec(ctx, `INSERT INTO agents (id, handle, name, search_name, model, kind, status, sample, created_at)
		SELECT `+agentID+`, 'load-' || a, 'Load ' || a, 'load ' || a, 'model-' || a % 20, 'agent', 'active', FALSE, ?
		FROM generate_series(1, ?) AS a`, l.at.AddDate(-1, 0, 0), l.agents)
}

// addMarkets adds two markets a day. Each hundred markets in a row share a category, and each ten an event.
func (l *loader) addMarkets(ctx context.Context) error {
	err := l.exec(ctx, `INSERT INTO market_events (id, title, by_price, tags_known, updated_at)
		SELECT 'load-' || e, 'Load event ' || e, FALSE, TRUE, ? FROM generate_series(0, ?) AS e`, l.at, (l.markets-1)/10)
	if err != nil {
		return err
	}
	return l.exec(ctx, `INSERT INTO markets (id, source, question, title, category, outcomes, prices, probability, volume,
			closes_at, active, closed, scalar, match_key, search_text, first_seen_at, observed_at, sample, event_id, event_title)
		SELECT 'load-' || m, 'load', 'Load ' || m, 'Load ' || m, 'category-' || (m / 100) % 8, '["Yes","No"]', '[0.5,0.5]', 0.5, m,
			?0::timestamptz - (m / 2) % 180 * interval '1 day', FALSE, TRUE, FALSE, 'load ' || m, 'load ' || m || ' load ' || m, ?0, ?0, FALSE, 'load-' || m / 10, 'Load event ' || m / 10
		FROM generate_series(0, ?1) AS m`, l.at, l.markets-1)
}

// copyTo returns a step that streams a row of each prediction into a table by COPY.
func (l *loader) copyTo(table string, columns []string, row func(record) []any) func(context.Context) error {
	return func(ctx context.Context) error {
		return l.conn.Raw(func(driver any) error {
			number := 0
			next := func() ([]any, error) {
				if number == l.predictions {
					return nil, nil
				}
				number++
				return row(l.record(number)), nil
			}
			_, err := database.Pgx(driver).CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromFunc(next))
			return err
		})
	}
}

// addDays adds the daily sums of the settled predictions, which settlement builds up one by one.
// There are rows for each category, and day blocks over all categories.
func (l *loader) addDays(ctx context.Context) error {
	var columns, sums strings.Builder
	for i := range score.BinCount {
		in := fmt.Sprintf("FILTER (WHERE least(floor(confidence * 10), 9) = %d)", i)
		fmt.Fprintf(&columns, ", b%d_count, b%d_confidence, b%d_observed", i, i, i)
		fmt.Fprintf(&sums, ", COUNT(*) %[1]s, COALESCE(SUM(round(confidence * 1e9)) %[1]s, 0),"+
			" COALESCE(SUM(round(resolution_value * 1e9)) %[1]s, 0)", in)
	}
	err := l.exec(ctx, `INSERT INTO agent_days (agent_id, category, day, clusters, cluster_sum, cluster_squares, stake, variance,
			disagreements, resolved, scored, brier, market_brier, log_edge, resolved_brier, observed_squares`+columns.String()+`)
		SELECT agent_id, category, to_char(scheduled_close_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'),
			COUNT(*), SUM(edge), SUM(edge * edge), SUM(round((confidence - baseline) ^ 2 * 1e6)),
			SUM(round(((confidence - baseline) * 1e6) ^ 2 * (confidence + baseline) * (2 - confidence - baseline))),
			COUNT(*) FILTER (WHERE abs(confidence - baseline) >= 0.03), COUNT(*), COUNT(*),
			SUM(round(brier * 1e8)), SUM(round((baseline - resolution_value) ^ 2 * 1e8)), SUM(round(log_edge * 1e6)),
			SUM(round(brier * 1e8)), SUM(round(resolution_value ^ 2 * 1e9))`+sums.String()+`
		FROM prediction_records WHERE status = 'resolved' GROUP BY 1, 2, 3`)
	if err != nil {
		return err
	}
	return l.exec(ctx, `INSERT INTO agent_days (agent_id, category, day, clusters, cluster_sum)
		SELECT agent_id, '', day, SUM(clusters), SUM(cluster_sum) FROM agent_days GROUP BY 1, 3`)
}

// addClusters adds a cluster of each settled prediction, because each is the only one of its agent on its event.
func (l *loader) addClusters(ctx context.Context) error {
	err := l.exec(ctx, `INSERT INTO clusters (agent_id, event_key, category, day, next_index, settled, disagreements, value, stake, spread)
		SELECT agent_id, event_key, category, to_char(scheduled_close_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), 1, 1,
			(abs(confidence - baseline) >= 0.03)::int, edge, round((confidence - baseline) ^ 2 * 1e6),
			round(abs(confidence - baseline) * 1e6 * sqrt((confidence + baseline) * (2 - confidence - baseline)))
		FROM prediction_records WHERE status = 'resolved'`)
	if err != nil {
		return err
	}
	err = l.exec(ctx, "INSERT INTO scored_events (event_key, agents) SELECT event_key, COUNT(*) FROM clusters GROUP BY event_key")
	if err != nil {
		return err
	}
	return l.exec(ctx, "INSERT INTO scored_event_count (id, events) SELECT 1, COUNT(*) FROM scored_events")
}

// addLedger adds the entry of each settled prediction.
func (l *loader) addLedger(ctx context.Context) error {
	return l.exec(ctx, `INSERT INTO score_entries (agent_id, id, prediction_id, seq, kind, value, outcome, source, brier, edge,
			contribution, log_edge, stake, spread, category, day, rules_version, created_at)
		SELECT p.agent_id, p.id, p.id, 1, 'score', p.resolution_value, p.resolution_outcome, p.resolution_source, p.brier, p.edge,
			p.edge, p.log_edge, c.stake, c.spread, c.category, c.day, p.rules_version, p.resolved_at
		FROM prediction_records AS p JOIN clusters AS c ON c.agent_id = p.agent_id AND c.event_key = p.event_key WHERE p.status = 'resolved'`)
}

// PricedMarkets is how many of the first markets have prices, if there are ten times as many predictions. pricesEach is
// how many each of them has.
const PricedMarkets, pricesEach = 1500, 400

// addPrices adds a price every two hours.
func (l *loader) addPrices(ctx context.Context) error {
	return l.exec(ctx, `INSERT INTO market_prices (market_id, observed_at, prices)
		SELECT 'load-' || m, ?0::timestamptz - n * interval '2 hours', CASE n % 2 WHEN 0 THEN '[0.5,0.5]' ELSE '[0.4,0.6]' END::jsonb
		FROM generate_series(0, ?1) AS m, generate_series(0, ?2) AS n`, l.at, min(PricedMarkets, max(l.predictions/10, 1))-1, pricesEach-1)
}

func (l *loader) addTallies(ctx context.Context) error {
	return l.exec(ctx, `INSERT INTO agent_tallies (agent_id, total, open, resolved, void, publication_days, last_ranked_day, last_published_at)
		SELECT agent_id, COUNT(*), COUNT(*) FILTER (WHERE status = 'open'), COUNT(*) FILTER (WHERE status = 'resolved'), 0,
			COUNT(DISTINCT (created_at AT TIME ZONE 'UTC')::date), to_char(MAX(created_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD'), MAX(created_at)
		FROM prediction_records GROUP BY agent_id`)
}

// withoutIndexes returns a step that drops the indexes of a table, runs step and creates them
// again, in one transaction. Sorting once is many times faster than inserting each row into an
// index.
func (l *loader) withoutIndexes(table string, step func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		var names, definitions []string
		rows, err := l.conn.QueryContext(ctx, `SELECT indexname, indexdef FROM pg_indexes
			WHERE schemaname = current_schema() AND tablename = ? AND indexname NOT LIKE '%_pkey'`, table)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name, definition string
			if err := rows.Scan(&name, &definition); err != nil {
				return err
			}
			names, definitions = append(names, name), append(definitions, definition)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
		return l.inTx(ctx, func() error {
			for _, name := range names {
				if err := l.exec(ctx, "DROP INDEX ?", bun.Ident(name)); err != nil {
					return err
				}
			}
			if err := step(ctx); err != nil {
				return err
			}
			for _, definition := range definitions {
				if err := l.exec(ctx, definition); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// inTx runs step in a transaction of the connection, so that an interrupted load leaves no table
// without its indexes.
func (l *loader) inTx(ctx context.Context, step func() error) error {
	if err := l.exec(ctx, "BEGIN"); err != nil {
		return err
	}
	if err := l.exec(ctx, "SET LOCAL maintenance_work_mem = '512MB'; SET LOCAL work_mem = '256MB'"); err != nil {
		return errors.Join(err, l.exec(context.WithoutCancel(ctx), "ROLLBACK"))
	}
	if err := step(); err != nil {
		return errors.Join(err, l.exec(context.WithoutCancel(ctx), "ROLLBACK"))
	}
	return l.exec(ctx, "COMMIT")
}
