package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pulsecast/pulsecast/app/database"
)

// replay repeats the statements of one publish over one connection to Postgres, the reads in one message and the writes
// in another. They are read from the log of the server, so they stay right when the program changes.
type replay struct {
	bench      *bench
	database   string
	statements []statement
	made       [][]byte // the ids that the publish made, as text
}

// statement is one statement in the log.
type statement struct {
	text     string
	extended bool     // sent with values; otherwise as a simple query
	values   [][]byte // as text; nil for NULL
}

// recordReplay publishes a few times and keeps the statements of the last transaction.
func (b *bench) recordReplay(ctx context.Context) (*replay, error) {
	w, err := b.world(ctx)
	if err != nil {
		return nil, err
	}
	r := &replay{bench: b, database: databaseName("replayed")}
	if err := b.postgres.clone(ctx, w.postgres, r.database); err != nil {
		return nil, err
	}
	if err := b.postgres.exec(ctx, "postgres", "ALTER DATABASE "+r.database+" SET log_statement = 'all'"); err != nil {
		return nil, err
	}
	n, err := b.serveDemo(ctx, b.postgres.url(r.database))
	if err != nil {
		return nil, err
	}
	defer n.Stop()
	p := w.publisher(n, w.keys.postgres)
	var since time.Time
	for range 5 { // the first ones also prepare statements and make the agent's counters
		since = time.Now()
		if _, err := p.run(ctx, traffic{clients: 1, count: 1}); err != nil {
			return nil, err
		}
	}
	text, err := os.ReadFile(filepath.Join(b.postgres.socket, "postgres.log"))
	if err != nil {
		return nil, err
	}
	if r.statements, err = lastPublish(string(text)); err != nil {
		return nil, err
	}
	r.made = madeSince(r.statements, since)
	return r, b.postgres.exec(ctx, "postgres", "ALTER DATABASE "+r.database+" RESET log_statement")
}

// measure repeats the transaction for one measurement.
func (r *replay) measure(ctx context.Context) (s sample, err error) {
	if err := r.bench.postgres.checkpoint(ctx); err != nil {
		return s, err
	}
	conn, err := pgx.Connect(ctx, r.bench.postgres.url(r.database))
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	for i, q := range r.statements {
		if _, err := conn.PgConn().Prepare(ctx, strconv.Itoa(i), q.text, nil); err != nil {
			return s, fmt.Errorf("%.200s: %w", q.text, err)
		}
	}
	began, count := time.Now(), 0
	for ; time.Since(began) < r.bench.length(); count++ {
		if err := r.once(ctx, conn); err != nil {
			return s, err
		}
	}
	return sample{rate: float64(count) / time.Since(began).Seconds()}, nil
}

func (r *replay) once(ctx context.Context, conn *pgx.Conn) error {
	fresh := make([][]byte, len(r.made))
	for i := range fresh {
		fresh[i] = []byte(database.NewID(time.Now()).String())
	}
	next := 0
	for _, message := range messages(r.statements) {
		batch := &pgconn.Batch{}
		for _, q := range message {
			values := make([][]byte, len(q.values))
			for i, v := range q.values {
				values[i] = r.renew(v, fresh)
			}
			batch.ExecPrepared(strconv.Itoa(next), values, nil, nil)
			next++
		}
		if err := conn.PgConn().ExecBatch(ctx, batch).Close(); err != nil {
			return fmt.Errorf("repeat a publish: %w", err)
		}
	}
	return nil
}

// messages parts the statements of a publish before its first insert. The values of an insert depend on what was read.
func messages(list []statement) [][]statement {
	first := slices.IndexFunc(list, statement.inserts)
	return [][]statement{list[:first], list[first:]}
}

var uuidText = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)

// madeSince lists the ids in the values of statements that are newer than since.
func madeSince(list []statement, since time.Time) (made [][]byte) {
	for _, q := range list {
		for _, id := range uuidText.FindAll(bytes.Join(q.values, []byte(" ")), -1) {
			seconds, nanoseconds := uuid.MustParse(string(id)).Time().UnixTime()
			known := slices.ContainsFunc(made, func(other []byte) bool { return bytes.Equal(id, other) })
			if !known && !time.Unix(seconds, nanoseconds).Before(since.Add(-time.Millisecond)) {
				made = append(made, id)
			}
		}
	}
	return made
}

// renew replaces the ids that the publish made by fresh ones, so that the rows still refer to each other.
func (r *replay) renew(value []byte, fresh [][]byte) []byte {
	for i, id := range r.made {
		if bytes.Contains(value, id) {
			value = bytes.ReplaceAll(value, id, fresh[i])
		}
	}
	return value
}

var (
	logEntry   = regexp.MustCompile(`(?m)^\S+ \S+ \S+ \[(\d+)\] (LOG|DETAIL):  `)
	logExecute = regexp.MustCompile(`^execute \S+: `)
	logValue   = regexp.MustCompile(`^(?:[Pp]arameters: |, )\$\d+ = (?:(NULL)|'((?:[^']|'')*)')`)
)

// lastPublish returns the statements of the last transaction in a log that inserts a prediction.
func lastPublish(log string) (found []statement, err error) {
	running := map[string][]statement{} // by process
	entries := logEntry.FindAllStringSubmatchIndex(log, -1)
	for i, at := range entries {
		end := len(log)
		if i+1 < len(entries) {
			end = entries[i+1][0]
		}
		process, kind := log[at[2]:at[3]], log[at[4]:at[5]]
		text := strings.ReplaceAll(strings.TrimSuffix(log[at[1]:end], "\n"), "\n\t", "\n")
		list := running[process]
		if kind == "DETAIL" {
			if len(list) > 0 && list[len(list)-1].extended {
				list[len(list)-1].values, err = logValues(text)
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		var q statement
		if begin := logExecute.FindString(text); begin != "" {
			q = statement{text: text[len(begin):], extended: true}
		} else if simple, ok := strings.CutPrefix(text, "statement: "); ok {
			q = statement{text: simple}
		} else {
			continue
		}
		if strings.EqualFold(q.text, "begin") {
			list = nil
		}
		list = append(list, q)
		running[process] = list
		if strings.EqualFold(q.text, "commit") && slices.ContainsFunc(list, statement.inserts) {
			found = list
		}
	}
	if found == nil {
		return nil, errors.New("the log shows no transaction that inserts a prediction")
	}
	return found, nil
}

// inserts reports whether the statement inserts predictions.
func (q statement) inserts() bool { return strings.Contains(q.text, "INSERT INTO predictions ") }

// logValues parses the values of a statement: parameters: $1 = 'it”s', $2 = NULL.
func logValues(text string) (values [][]byte, err error) {
	for text != "" {
		m := logValue.FindStringSubmatch(text)
		switch {
		case m == nil:
			return nil, fmt.Errorf("unexpected values in the log: %.200q", text)
		case m[1] != "":
			values = append(values, nil)
		default:
			values = append(values, []byte(strings.ReplaceAll(m[2], "''", "'")))
		}
		text = text[len(m[0]):]
	}
	return values, nil
}
