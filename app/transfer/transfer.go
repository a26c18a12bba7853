// Package transfer copies a whole installation from SQLite to Postgres or back, or from Postgres to a
// Postgres with other partitions. A copy has these steps:
//
//	check    the source is not in use and has the schema of this program; the target is empty,
//	         or holds this copy, interrupted
//	copy     each table after those it refers to, in batches; the rows of a batch and the
//	         progress of its table are stored in one transaction
//	index    the search index is rebuilt, because the engines store it differently
//	compare  a checksum of every table is computed on both sides
//	end      the mark of an incomplete copy is removed from the target
//
// An interrupted copy continues after its last batch. The target can't be served before the end. This
// package works on all tables directly, without the packages that own them.
package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// derived are the tables that the target derives from the copied rows, with the reason. Their rows
// may differ between the engines, so they are counted and not compared.
var derived = map[string]string{
	"agent_labels":      "filled by triggers on agents",
	"agent_label_parts": "filled by the same triggers",
	"prediction_words":  "a search index, rebuilt from the predictions",
}

// Options are the options of Run.
type Options struct {
	From, To   string // addresses, as in DATABASE_URL
	Partitions string // partitions of a new Postgres database, as in DATABASE_PARTITIONS
	Now        func() time.Time
	// Begin is called with the total number of rows, and Progress with the number of rows done
	// since the last call. A row counts once when it is copied and once when it is compared. Either
	// function may be nil.
	Begin    func(total int64)
	Progress func(rows int64)
	// AfterBatch, if not nil, is called after each committed batch. An error ends the copy. It is
	// for tests.
	AfterBatch func() error
}

// Sum is the result for a table that is equal on both sides.
type Sum struct {
	Table    string
	Rows     int64
	Checksum string // hexadecimal; empty for a derived table
}

// Result describes a completed copy.
type Result struct {
	Tables  []Sum
	Rows    int64
	Resumed bool // the copy continued an interrupted one
}

// side is one of the two databases.
type side interface {
	// read returns the next rows of a table after a place in it, in order, and the place of the
	// last row. The place "" is the start of the table. It returns no rows at the end of the table.
	read(ctx context.Context, t *table, after string) (rows [][]any, last string, err error)
	// each reads all rows of a table, in any order.
	each(ctx context.Context, t *table, row func(values []any) error) error
	// write adds rows and stores the progress of the table, in one transaction.
	write(ctx context.Context, t *table, rows [][]any, progress string) error
	close() error
}

// progress is the progress of a table.
type progress struct {
	After string // place of the last copied row
	Rows  int64
	Done  bool
}

// copier is one run of a copy.
type copier struct {
	Options
	from, to *database.DB
	incoming *database.Incoming
	source   side
	target   side
	tables   []table
	state    map[string]progress
}

// Run copies everything. To continue an interrupted copy, run it again with the same addresses.
func Run(ctx context.Context, o Options) (r *Result, err error) {
	c := &copier{Options: o}
	closeSource, err := c.openSource(ctx)
	if err != nil {
		return nil, fmt.Errorf("copy: the source: %w", err)
	}
	defer func() { err = errors.Join(err, closeSource()) }()
	closeTarget, err := c.openTarget(ctx)
	if err != nil {
		return nil, fmt.Errorf("copy: the target: %w", err)
	}
	defer func() { err = errors.Join(err, closeTarget()) }()
	r = &Result{Resumed: c.state != nil}
	if err := c.run(ctx, r); err != nil {
		return nil, fmt.Errorf("copy: %w", err)
	}
	return r, nil
}

func (c *copier) run(ctx context.Context, r *Result) error {
	if err := c.plan(ctx); err != nil {
		return err
	}
	for i := range c.tables {
		if err := c.copyTable(ctx, &c.tables[i]); err != nil {
			return fmt.Errorf("%s: %w", c.tables[i].name, err)
		}
	}
	if err := c.indexWords(ctx); err != nil {
		return err
	}
	if err := c.compare(ctx, r); err != nil {
		return err
	}
	if c.to.Kind == database.Postgres {
		if _, err := c.to.ExecContext(ctx, "ANALYZE"); err != nil {
			return fmt.Errorf("analyze: %w", err)
		}
	}
	return c.incoming.End(ctx)
}

// plan lists the tables, and empties those that the migrations filled.
func (c *copier) plan(ctx context.Context) error {
	var err error
	if c.tables, err = tablesOf(ctx, c.from, c.to); err != nil {
		return err
	}
	if err := c.readState(ctx); err != nil {
		return err
	}
	if _, cleared := c.state[clearing]; !cleared {
		if err := c.clear(ctx); err != nil {
			return err
		}
	}
	if c.Begin != nil {
		total := int64(0)
		for i := range c.tables {
			n, err := database.CountRows(ctx, c.from.Reader, c.tables[i].name)
			if err != nil {
				return err
			}
			total += 2 * n
		}
		c.Begin(total)
	}
	for name, p := range c.state {
		if derived[name] == "" {
			c.tell(p.Rows)
		}
	}
	return nil
}

func (c *copier) tell(rows int64) {
	if c.Progress != nil {
		c.Progress(rows)
	}
}

// clearing is the name under which clear stores that it is done.
const clearing = "(cleared)"

func (c *copier) readState(ctx context.Context) error {
	kept, err := c.incoming.All(ctx)
	if err != nil {
		return err
	}
	c.state = map[string]progress{}
	for name, value := range kept {
		name, ours := strings.CutPrefix(name, "table ")
		if !ours {
			continue
		}
		var p progress
		if err := json.Unmarshal([]byte(value), &p); err != nil {
			return fmt.Errorf("read the progress of %s: %w", name, err)
		}
		c.state[name] = p
	}
	return nil
}

// clear deletes the rows that the migrations created, because the copy brings them.
func (c *copier) clear(ctx context.Context) error {
	return c.to.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		for i := range slices.Backward(c.tables) {
			name := c.tables[i].name
			n, err := database.CountRows(ctx, tx, name)
			if err != nil || n == 0 {
				if err != nil {
					return err
				}
				continue
			}
			if _, err := tx.NewRaw("DELETE FROM ?", bun.Ident(name)).Exec(ctx); err != nil {
				return fmt.Errorf("empty %s: %w", name, err)
			}
		}
		_, err := tx.Tx.ExecContext(ctx, database.SetIncoming, keyOf(clearing), "{}")
		return err
	})
}

func keyOf(table string) string { return "table " + table }

func (c *copier) copyTable(ctx context.Context, t *table) error {
	p := c.state[t.name]
	if derived[t.name] != "" {
		return nil
	}
	for !p.Done {
		rows, last, err := c.source.read(ctx, t, p.After)
		if err != nil {
			return err
		}
		p.Rows += int64(len(rows))
		if p.Done = len(rows) == 0; !p.Done {
			p.After = last
		}
		kept, err := json.Marshal(p)
		if err != nil {
			return err
		}
		if err := c.target.write(ctx, t, rows, string(kept)); err != nil {
			return err
		}
		c.tell(int64(len(rows)))
		if err := c.batchDone(); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) batchDone() error {
	if c.AfterBatch == nil {
		return nil
	}
	return c.AfterBatch()
}

const (
	wordsTable = "prediction_words"
	// wordsAtOnce is how many predictions one transaction indexes.
	wordsAtOnce = 2000
)

// indexWords indexes the predictions for search, in the order of their ids.
func (c *copier) indexWords(ctx context.Context) error {
	p := c.state[wordsTable]
	for !p.Done {
		err := c.to.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
			last, n, err := prediction.IndexWords(ctx, tx, p.After, wordsAtOnce)
			if err != nil {
				return err
			}
			p.After, p.Rows, p.Done = last, p.Rows+int64(n), n < wordsAtOnce
			kept, err := json.Marshal(p)
			if err != nil {
				return err
			}
			_, err = tx.Tx.ExecContext(ctx, database.SetIncoming, keyOf(wordsTable), string(kept))
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", wordsTable, err)
		}
		if err := c.batchDone(); err != nil {
			return err
		}
	}
	return nil
}
