package release

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// ErrNoBoard means that no day holds a board.
var ErrNoBoard = errors.New("no day holds a board; the first full build after the archive begins records one")

// Report is the result of Recompute.
type Report struct {
	AsOf time.Time
	// Rows are the recomputed rows of all boards. Names maps the ids of agents to their handles.
	Rows  []archive.BoardRow
	Names map[string]string

	Days                             int
	Predictions, Entries, References int64
	Baselines                        Baselines
	// Differences describe each number that differs from the published one.
	Differences []string
}

// Main returns the rows of the board over all time and all categories, in board order.
func (r *Report) Main() []archive.BoardRow { return mainOf(r.Rows) }

// Recompute rebuilds the latest boards from the published files alone and compares them with the
// published ones. It loads the predictions with their baselines, the ledger, the reference rows and
// the agents into an empty database. It computes the sums as settle --rebuild does, and builds the
// boards as of the time of the published ones. It also recomputes the baselines whose prices are in
// the files. It calls step before each stage with a description.
func Recompute(ctx context.Context, s archive.Storage, step func(what string)) (report *Report, err error) {
	days, board, err := latestBoard(ctx, s)
	if err != nil {
		return nil, err
	}
	step("reading predictions and the ledger")
	l, err := load(ctx, days, board[0].AsOf, mainOf(board))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	report = &Report{
		AsOf: board[0].AsOf, Names: l.names, Days: len(days), Predictions: l.Predictions, Entries: l.Entries, References: l.References,
	}
	step("rebuilding sums and boards")
	if err := l.rebuild(ctx, report, board); err != nil {
		return nil, err
	}
	report.compare(board)
	step("recomputing baselines from prices")
	return report, l.baselines(ctx, report)
}

func mainOf(board []archive.BoardRow) []archive.BoardRow {
	return slices.DeleteFunc(slices.Clone(board), func(b archive.BoardRow) bool {
		return b.Window != string(leaderboard.All) || b.Category != leaderboard.AllCategories
	})
}

// latestBoard returns the rows of the newest boards that count, and the days up to them.
func latestBoard(ctx context.Context, s archive.Storage) (days []*archive.Day, board []archive.BoardRow, err error) {
	names, err := archive.StoredDays(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		d, err := archive.OpenDay(ctx, s, name)
		if err != nil {
			return nil, nil, err
		}
		days = append(days, d)
	}
	for _, d := range slices.Backward(decided(days)) {
		for row, err := range archive.Rows[archive.BoardRow](ctx, d, archive.Boards) {
			if err != nil {
				return nil, nil, err
			}
			if len(board) > 0 && row.AsOf.After(board[0].AsOf) {
				board = board[:0]
			}
			if row.AsOf = row.AsOf.UTC(); len(board) == 0 || row.AsOf.Equal(board[0].AsOf) {
				board = append(board, row)
			}
		}
		if len(board) > 0 {
			return days[:slices.Index(days, d)+1], board, nil
		}
	}
	return nil, nil, ErrNoBoard
}

// rebuild computes the sums and the boards.
func (l *loaded) rebuild(ctx context.Context, report *Report, board []archive.BoardRow) error {
	now := func() time.Time { return l.asOf }
	sums, err := settlement.New(settlement.Options{DB: l.db, Now: now}).Rebuild(ctx, true)
	if err != nil {
		return err
	}
	for _, d := range sums.Differences {
		if d.Published() { // the sums are new, so they can't differ
			report.Differences = append(report.Differences, d.String())
		}
	}
	if err := l.publicationDays(ctx, board); err != nil {
		return err
	}
	b := leaderboard.NewBuilder(l.db, thresholds(board), now)
	b.Records = true
	if err := b.Rebuild(ctx); err != nil {
		return err
	}
	for row, err := range leaderboard.RecordsIn(ctx, l.db.Reader, time.Time{}, l.asOf.AddDate(0, 0, 1)) {
		if err != nil {
			return err
		}
		row.AsOf = row.AsOf.UTC()
		report.Rows = append(report.Rows, row)
	}
	return nil
}

// publicationDays takes each agent's number of publication days from the board. It can't be
// computed, because it includes open predictions, which are not published yet.
func (l *loaded) publicationDays(ctx context.Context, board []archive.BoardRow) error {
	var tallies []prediction.Tally
	var agents []uuid.UUID
	for _, b := range mainOf(board) {
		id, err := uuid.Parse(b.Agent)
		if err != nil {
			return fmt.Errorf("%q is not an id", b.Agent)
		}
		if agents = append(agents, id); !b.Reference {
			tallies = append(tallies, prediction.Tally{AgentID: id, Total: 1, PublicationDays: b.PublicationDays})
		}
	}
	return l.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		for chunk := range slices.Chunk(agents, exportRows) {
			if err := prediction.ReplaceTallies(ctx, tx, chunk, nil); err != nil {
				return err
			}
		}
		for chunk := range slices.Chunk(tallies, exportRows) {
			if err := prediction.ReplaceTallies(ctx, tx, nil, chunk); err != nil {
				return err
			}
		}
		return nil
	})
}

func thresholds(board []archive.BoardRow) leaderboard.Thresholds {
	var t leaderboard.Thresholds
	for i := range board {
		if t.Days = board[i].NeedDays; board[i].Category == leaderboard.AllCategories {
			t.Events = board[i].NeedEvents
		} else {
			t.CategoryEvents = board[i].NeedEvents
		}
	}
	return t
}

// compare records each number that differs from the published boards.
func (r *Report) compare(published []archive.BoardRow) {
	type key struct{ window, category, agent string }
	keyOf := func(b *archive.BoardRow) key { return key{b.Window, b.Category, b.Agent} }
	computed := make(map[key]*archive.BoardRow, len(r.Rows))
	for i := range r.Rows {
		computed[keyOf(&r.Rows[i])] = &r.Rows[i]
	}
	for i := range published {
		p := &published[i]
		c := computed[keyOf(p)]
		if c == nil {
			r.Differences = append(r.Differences, fmt.Sprintf("board %s, agent %s: published, but not in the recomputed board", boardName(p), r.Name(p.Agent)))
			continue
		}
		delete(computed, keyOf(p))
		r.compareRow(p, c)
	}
	for _, c := range computed {
		r.Differences = append(r.Differences, fmt.Sprintf("board %s, agent %s: recomputed, but not in the published board", boardName(c), r.Name(c.Agent)))
	}
	slices.Sort(r.Differences)
}

func (r *Report) compareRow(published, computed *archive.BoardRow) {
	p, c := reflect.ValueOf(*published), reflect.ValueOf(*computed)
	for i := range p.NumField() {
		if a, b := shown(p.Field(i)), shown(c.Field(i)); a != b {
			column, _, _ := strings.Cut(p.Type().Field(i).Tag.Get("parquet"), ",")
			r.Differences = append(r.Differences, fmt.Sprintf("board %s, agent %s: %s is published as %s, recomputed as %s",
				boardName(published), r.Name(published.Agent), column, a, b))
		}
	}
}

// shown formats a value with all its digits.
func shown(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "null"
		}
		v = v.Elem()
	}
	return fmt.Sprint(v.Interface())
}

func boardName(b *archive.BoardRow) string {
	if b.Category == leaderboard.AllCategories {
		return b.Window
	}
	return b.Window + " of " + b.Category
}

// Name returns the handle of an agent, or its id if the handle is not published.
func (r *Report) Name(id string) string {
	if handle, ok := r.Names[id]; ok {
		return handle
	}
	return id
}
