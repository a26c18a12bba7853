// Package transfer copies a whole installation from SQLite to Postgres or back, or from Postgres
// to a Postgres with other partitions.
//
//	check    the source is in use by no server and has the schema of this program;
//	         the target is empty, or is marked as this copy's and incomplete
//	copy     each table after those it refers to, in batches; each batch and how far
//	         it came are one transaction of the target
//	index    the search index is made anew: the two engines keep it in different forms
//	compare  both sides compute a checksum of every table
//	end      the mark of the target is removed
//
// A copy that was interrupted goes on behind its last batch. Until the end the target can't
// be served. This package works on all tables at once, below their owners.
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

// derived are tables that the target makes itself, from what is copied. The two engines may
// differ in them, so their rows are counted and not compared.
var derived = map[string]string{
	"agent_labels":     "triggers of agents keep it, with the engine's own idea of lower case",
	"prediction_words": "a search index, made anew from the predictions",
}

// Options are what Run needs.
type Options struct {
	From, To   string // addresses, as DATABASE_URL has them
	Partitions string // of a new Postgres database, as DATABASE_PARTITIONS has them
	Now        func() time.Time
	// Progress is told how many more rows are done, of Total as Begin was told; nil functions
	// are left out. A row counts once when it is copied and once when it is compared.
	Begin    func(total int64)
	Progress func(rows int64)
	// AfterBatch is called after each batch is committed; an error ends the copy. For tests.
	AfterBatch func() error
}

// Sum is a table that both sides agree on.
type Sum struct {
	Table    string
	Rows     int64
	Checksum string // hexadecimal; empty for a table that the target makes itself
}

// Result says what was copied.
type Result struct {
	Tables  []Sum
	Rows    int64
	Resumed bool // an interrupted copy was completed
}

// source is the side that is read.
type source interface {
	// read returns the next rows of a table after a place in it, in order, and the place of the
	// last one. The place is empty at the beginning. Without rows the table is at its end.
	read(ctx context.Context, t *table, after string) (rows [][]any, last string, err error)
	side
}

// target is the side that is written.
type target interface {
	// write adds rows and keeps how far the table has come, in one transaction.
	write(ctx context.Context, t *table, rows [][]any, progress string) error
	side
}

// side is what both can do.
type side interface {
	// each reads all rows of a table, in any order.
	each(ctx context.Context, t *table, row func(values []any) error) error
	close() error
}

// progress is how far a table has come.
type progress struct {
	After string // the place of the last row that was copied
	Rows  int64
	Done  bool
}

// copier is one run.
type copier struct {
	Options
	from, to *database.DB
	incoming *database.Incoming
	source   source
	target   target
	tables   []table
	state    map[string]progress
}

// Run copies everything. Interrupted, it can be run again with the same addresses.
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

// clearing names the state of clear.
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

// clear deletes the rows that the migrations have made: they come with the copy.
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
	// wordsAtOnce is how many predictions one transaction makes searchable.
	wordsAtOnce = 2000
)

// indexWords makes the predictions searchable, in the order of their ids.
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
