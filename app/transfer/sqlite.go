package transfer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
)

// sqliteSide is a SQLite file. Its rows are read in the order of their rowids. A place in a table
// is a rowid.
type sqliteSide struct{ db *database.DB }

func (s *sqliteSide) close() error { return nil }

func (s *sqliteSide) read(ctx context.Context, t *table, after string) (rows [][]any, last string, err error) {
	place := int64(0)
	if after != "" {
		if place, err = strconv.ParseInt(after, 10, 64); err != nil {
			return nil, "", fmt.Errorf("read the progress: %w", err)
		}
	}
	found, err := s.db.Reader.DB.QueryContext(ctx,
		fmt.Sprintf(`SELECT %s, rowid FROM %q WHERE rowid > ? ORDER BY rowid LIMIT %d`, t.list(), t.name, batchRows), place)
	if err != nil {
		return nil, "", err
	}
	defer found.Close()
	var b batch
	for room := true; room && found.Next(); {
		row, err := scanSQLite(found, t, &place)
		if err != nil {
			return nil, "", err
		}
		room = b.add(row)
	}
	return b.rows, strconv.FormatInt(place, 10), found.Err()
}

func (s *sqliteSide) each(ctx context.Context, t *table, row func([]any) error) error {
	found, err := s.db.Reader.DB.QueryContext(ctx, fmt.Sprintf(`SELECT %s FROM %q`, t.list(), t.name))
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		values, err := scanSQLite(found, t)
		if err != nil {
			return err
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return found.Err()
}

// scanSQLite reads a row. more are the targets of expressions selected after its columns.
func scanSQLite(rows *sql.Rows, t *table, more ...any) ([]any, error) {
	values := make([]any, len(t.columns))
	targets := make([]any, len(t.columns), len(t.columns)+len(more))
	for i := range values {
		targets[i] = &values[i]
	}
	if err := rows.Scan(append(targets, more...)...); err != nil {
		return nil, err
	}
	for i, v := range values {
		var err error
		if values[i], err = fromSQLite(t.kinds[i], v); err != nil {
			return nil, fmt.Errorf("column %s: %w", t.columns[i], err)
		}
	}
	return values, nil
}

// fromSQLite converts what the driver returns to a value of a kind.
func fromSQLite(k kind, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	switch k {
	case kindUUID:
		if text, ok := v.(string); ok {
			return uuid.Parse(text)
		}
	case kindText, kindJSON:
		switch v := v.(type) {
		case string:
			return v, nil
		case []byte:
			return string(v), nil
		}
	case kindTime:
		if at, ok := v.(time.Time); ok {
			return database.Stored(at), nil
		}
	case kindBytes:
		switch v := v.(type) {
		case []byte:
			return append([]byte{}, v...), nil // keeps an empty value from becoming NULL
		case string:
			return []byte(v), nil
		}
	case kindFloat:
		switch v := v.(type) {
		case float64:
			return v, nil
		case int64:
			return float64(v), nil
		}
	case kindInt:
		if n, ok := v.(int64); ok {
			return n, nil
		}
	case kindBool:
		switch v := v.(type) {
		case bool:
			return v, nil
		case int64:
			return v != 0, nil
		}
	}
	return nil, fmt.Errorf("got a value of type %T, want a %s", v, k)
}

func (s *sqliteSide) write(ctx context.Context, t *table, rows [][]any, progress string) (err error) {
	tx, err := s.db.DB.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	insert, err := tx.PrepareContext(ctx, fmt.Sprintf("INSERT INTO %q (%s) VALUES (%s)", t.name, t.list(),
		strings.TrimSuffix(strings.Repeat("?, ", len(t.columns)), ", ")))
	if err != nil {
		return err
	}
	defer insert.Close()
	args := make([]any, len(t.columns))
	for _, row := range rows {
		for i, v := range row {
			if args[i], err = toSQLite(t.kinds[i], v); err != nil {
				return fmt.Errorf("column %s: %w", t.columns[i], err)
			}
		}
		if _, err := insert.ExecContext(ctx, args...); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, database.SetIncoming, keyOf(t.name), progress); err != nil {
		return err
	}
	return tx.Commit()
}

// toSQLite converts a value to the form in which our models store it.
func toSQLite(k kind, v any) (any, error) {
	switch v := v.(type) {
	case uuid.UUID:
		return v.String(), nil
	case time.Time:
		return v.Format(database.SQLiteTime), nil
	case string:
		if k == kindJSON {
			return compact(v)
		}
	}
	return v, nil
}
