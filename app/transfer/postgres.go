package transfer

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/pulsecast/pulsecast/app/database"
)

// postgresSide is a Postgres database, on its own connection. A place in a table is the key of a
// row, as a JSON list of texts.
type postgresSide struct{ conn *pgx.Conn }

// newSide returns the reader and writer of a database's rows.
func newSide(ctx context.Context, db *database.DB, address string) (side, error) {
	if db.Kind == database.SQLite {
		return &sqliteSide{db}, nil
	}
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, errors.New("not a valid postgres:// address")
	}
	config.RuntimeParams["timezone"] = "UTC"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &postgresSide{conn}, nil
}

func (s *postgresSide) close() error { return s.conn.Close(context.Background()) }

func (s *postgresSide) read(ctx context.Context, t *table, after string) (rows [][]any, last string, err error) {
	keys, places := make([]string, len(t.key)), make([]string, len(t.key))
	for i, column := range t.key {
		keys[i], places[i] = `"`+t.columns[column]+`"`, fmt.Sprintf("$%d", i+1)
	}
	order := strings.Join(keys, ", ")
	query := fmt.Sprintf("SELECT %s FROM %q", t.list(), t.name)
	var args []any
	if after != "" {
		if args, err = placeOf(t, after); err != nil {
			return nil, "", err
		}
		query += fmt.Sprintf(" WHERE (%s) > (%s)", order, strings.Join(places, ", "))
	}
	found, err := s.conn.Query(ctx, fmt.Sprintf("%s ORDER BY %s LIMIT %d", query, order, batchRows), args...)
	if err != nil {
		return nil, "", err
	}
	defer found.Close()
	var b batch
	for room := true; room && found.Next(); {
		row, err := scanPostgres(found, t)
		if err != nil {
			return nil, "", err
		}
		room = b.add(row)
	}
	found.Close()
	if err := found.Err(); err != nil || len(b.rows) == 0 {
		return nil, after, err
	}
	last, err = writePlace(t, b.rows[len(b.rows)-1])
	return b.rows, last, err
}

func (s *postgresSide) each(ctx context.Context, t *table, row func([]any) error) error {
	found, err := s.conn.Query(ctx, fmt.Sprintf("SELECT %s FROM %q", t.list(), t.name))
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		values, err := scanPostgres(found, t)
		if err != nil {
			return err
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return found.Err()
}

// scanPostgres reads a row. It reads types as text that the connection would decode differently,
// such as JSON.
func scanPostgres(rows pgx.Rows, t *table) ([]any, error) {
	targets := make([]any, len(t.kinds))
	for i, k := range t.kinds {
		targets[i] = scanners[k]()
	}
	if err := rows.Scan(targets...); err != nil {
		return nil, err
	}
	for i, target := range targets {
		targets[i] = scanned(t.kinds[i], target)
	}
	return targets, nil
}

var scanners = map[kind]func() any{
	kindUUID: func() any { return new(pgtype.UUID) }, kindText: func() any { return new(pgtype.Text) },
	kindTime: func() any { return new(pgtype.Timestamptz) }, kindJSON: func() any { return new([]byte) },
	kindBytes: func() any { return new([]byte) }, kindFloat: func() any { return new(pgtype.Float8) },
	kindInt: func() any { return new(pgtype.Int8) }, kindBool: func() any { return new(pgtype.Bool) },
}

// scanned converts a scanned target to a value.
func scanned(k kind, target any) any {
	switch v := target.(type) {
	case *pgtype.UUID:
		if v.Valid {
			return uuid.UUID(v.Bytes)
		}
	case *pgtype.Text:
		if v.Valid {
			return v.String
		}
	case *pgtype.Timestamptz:
		if v.Valid {
			return database.Stored(v.Time)
		}
	case *[]byte:
		switch {
		case *v == nil:
			return nil
		case k == kindJSON:
			return string(*v)
		}
		return *v
	case *pgtype.Float8:
		if v.Valid {
			return v.Float64
		}
	case *pgtype.Int8:
		if v.Valid {
			return v.Int64
		}
	case *pgtype.Bool:
		if v.Valid {
			return v.Bool
		}
	}
	return nil
}

func (s *postgresSide) write(ctx context.Context, t *table, rows [][]any, progress string) (err error) {
	tx, err := s.conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
		}
	}()
	if len(rows) > 0 {
		next := 0
		_, err = tx.CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, pgx.CopyFromFunc(func() ([]any, error) {
			if next == len(rows) {
				return nil, nil
			}
			next++
			return toPostgres(t, rows[next-1]), nil
		}))
		if err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, database.SetIncoming, keyOf(t.name), progress); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// toPostgres converts a row for CopyFrom. It marks JSON as encoded already.
func toPostgres(t *table, row []any) []any {
	out := make([]any, len(row))
	for i, v := range row {
		out[i] = v
		if text, ok := v.(string); ok && t.kinds[i] == kindJSON {
			out[i] = json.RawMessage(text)
		}
	}
	return out
}

func writePlace(t *table, row []any) (string, error) {
	texts := make([]string, len(t.key))
	for i, column := range t.key {
		switch v := row[column].(type) {
		case time.Time:
			texts[i] = v.Format(time.RFC3339Nano)
		case []byte:
			texts[i] = hex.EncodeToString(v)
		default:
			texts[i] = fmt.Sprint(v)
		}
	}
	out, err := json.Marshal(texts)
	return string(out), err
}

func placeOf(t *table, place string) ([]any, error) {
	var texts []string
	if err := json.Unmarshal([]byte(place), &texts); err != nil || len(texts) != len(t.key) {
		return nil, fmt.Errorf("the progress %q is not a key: %w", place, err)
	}
	args := make([]any, len(texts))
	for i, column := range t.key {
		var err error
		switch text := texts[i]; t.kinds[column] {
		case kindUUID:
			args[i], err = uuid.Parse(text)
		case kindTime:
			args[i], err = time.Parse(time.RFC3339Nano, text)
		case kindBytes:
			args[i], err = hex.DecodeString(text)
		case kindInt:
			args[i], err = strconv.ParseInt(text, 10, 64)
		default:
			args[i] = text
		}
		if err != nil {
			return nil, fmt.Errorf("read the progress: %w", err)
		}
	}
	return args, nil
}
