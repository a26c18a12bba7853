package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
)

// barePublish repeats on SQLite what a publish with an Idempotency-Key writes, without HTTP, checks and lookups. It
// writes to a copy of the node's database, so that the tables are as large as there.
type barePublish struct {
	db              *sql.DB
	rows            []bareRow
	key             bareRow // the row of the key, which a publish without one doesn't write
	agents, markets []string
	length          time.Duration
	count           int
}

// bareRow is a statement and its arguments for the recorded prediction. at maps the names of the columns that differ
// between predictions to their positions.
type bareRow struct {
	statement string
	args      []any
	at        map[string]int
	prepared  *sql.Stmt
}

// bareOptions are those of our own connections, except that foreign keys are not checked.
const bareOptions = "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=wal_autocheckpoint(8000)&_pragma=foreign_keys(0)&_txlock=immediate"

// openBarePublish copies the database at path and reads the rows of its newest prediction, which must have a key.
func (b *bench) openBarePublish(ctx context.Context, path string) (l *barePublish, err error) {
	to := filepath.Join(b.dir, "barepublish.db")
	from, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	_, err = from.ExecContext(ctx, "VACUUM INTO '"+to+"'")
	if err = errors.Join(err, from.Close()); err != nil {
		return nil, err
	}
	l = &barePublish{length: b.length()}
	if l.db, err = sql.Open("sqlite", to+bareOptions); err != nil {
		return nil, err
	}
	l.db.SetMaxOpenConns(1)
	if err := l.read(ctx); err != nil {
		return nil, errors.Join(err, l.db.Close())
	}
	return l, nil
}

// read reads agents and markets, and makes the statements of a publish.
func (l *barePublish) read(ctx context.Context) error {
	var id string
	err := l.db.QueryRowContext(ctx, "SELECT id FROM predictions ORDER BY id DESC LIMIT 1").Scan(&id)
	if err != nil {
		return fmt.Errorf("the newest prediction: %w", err)
	}
	for _, table := range []struct{ name, id string }{
		{"predictions", "id"}, {"results", "id"}, {"prediction_words", "id"}, {"citations", "prediction_id"},
	} {
		if err := l.copyRows(ctx, table.name, table.id, id); err != nil {
			return fmt.Errorf("%s: %w", table.name, err)
		}
	}
	var key string
	err = l.db.QueryRowContext(ctx, "SELECT key FROM "+keyTable+" ORDER BY created_at DESC LIMIT 1").Scan(&key)
	if err == nil {
		err = l.copyRows(ctx, keyTable, "key", key)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", keyTable, err)
	}
	last := len(l.rows) - 1
	l.key, l.rows = l.rows[last], l.rows[:last]
	l.rows = append(l.rows,
		bareRow{`INSERT INTO agent_tallies (agent_id, total, open, resolved, void, publication_days) VALUES (?, 1, 1, 0, 0, 1)
			ON CONFLICT (agent_id) DO UPDATE SET total = total + 1, open = open + 1`, []any{""}, map[string]int{"agent_id": 0}, nil},
		bareRow{`INSERT INTO update_outbox (id, content) VALUES (?, ?)`, []any{"", strings.Repeat("x", 400)}, map[string]int{"id": 0}, nil},
		bareRow{`UPDATE market_consensus SET predictions = predictions + 1, changed = TRUE WHERE market_id = ?`,
			[]any{""}, map[string]int{"market_id": 0}, nil})
	if l.agents, err = l.texts(ctx, fmt.Sprintf("SELECT id FROM agents ORDER BY id DESC LIMIT %d", agents)); err != nil {
		return err
	}
	l.markets, err = l.texts(ctx, "SELECT market_id FROM market_consensus")
	if err == nil && len(l.markets) == 0 {
		err = errors.New("no market has a prediction")
	}
	for i := range l.rows {
		if err == nil {
			l.rows[i].prepared, err = l.db.PrepareContext(ctx, l.rows[i].statement)
		}
	}
	if err == nil {
		l.key.prepared, err = l.db.PrepareContext(ctx, l.key.statement)
	}
	return err
}

// copyRows makes a statement for each row of a table that belongs to a prediction.
func (l *barePublish) copyRows(ctx context.Context, table, column, id string) error {
	rows, err := l.db.QueryContext(ctx, "SELECT * FROM "+table+" WHERE "+column+" = ?", id)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	statement := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ")"
	found := 0
	for ; rows.Next(); found++ {
		row := bareRow{statement, make([]any, len(columns)), map[string]int{}, nil}
		targets := make([]any, len(columns))
		for i, name := range columns {
			targets[i] = &row.args[i]
			switch name {
			case column:
				row.at["id"] = i
			case "agent_id", "market_id":
				row.at[name] = i
			}
		}
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		l.rows = append(l.rows, row)
	}
	if found == 0 {
		return errors.Join(errors.New("no row of the prediction"), rows.Err())
	}
	return rows.Err()
}

func (l *barePublish) texts(ctx context.Context, query string) (list []string, err error) {
	rows, err := l.db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, rows.Err()
}

// contender returns a contender that writes the rows of several publishes in each transaction.
func (l *barePublish) contender(name string, each int, keyed bool) contender {
	rows := l.rows
	if keyed {
		rows = append(slices.Clone(rows), l.key)
	}
	return contender{name, func(ctx context.Context) (sample, error) {
		began, stored := time.Now(), 0
		for ; time.Since(began) < l.length; stored += each {
			if err := l.transaction(ctx, rows, each); err != nil {
				return sample{}, err
			}
		}
		return sample{rate: float64(stored) / time.Since(began).Seconds()}, nil
	}}
}

// transaction writes one statement after the other, each for all publishes, as our own batch does.
func (l *barePublish) transaction(ctx context.Context, rows []bareRow, publishes int) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	ids := make([]string, publishes)
	for i := range ids {
		ids[i] = database.NewID(time.Now()).String()
	}
	for r := range rows {
		row := &rows[r]
		prepared := tx.StmtContext(ctx, row.prepared)
		for i, id := range ids {
			n := l.count + i
			for column, value := range map[string]string{
				"id": id, "agent_id": l.agents[n%len(l.agents)], "market_id": l.markets[n%len(l.markets)],
			} {
				if at, ok := row.at[column]; ok {
					row.args[at] = value
				}
			}
			if _, err := prepared.ExecContext(ctx, row.args...); err != nil {
				return fmt.Errorf("%.60s: %w", row.statement, err)
			}
		}
	}
	if _, err := tx.ExecContext(ctx, "UPDATE generations SET value = value + 1 WHERE topic = 'predictions'"); err != nil {
		return err
	}
	l.count += publishes
	return tx.Commit()
}
