package release

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// loaded is a database made from the published files as of a moment.
type loaded struct {
	db      *database.DB
	dir     string
	asOf    time.Time
	days    []*archive.Day       // oldest first, up to asOf
	decided []*archive.Day       // the days whose decisions count
	latest  map[uuid.UUID]latest // by prediction
	names   map[string]string    // handles of agents by id, if published
	owners  map[string]string    // hashes of their owners

	Predictions, Entries, References int64
}

// latest is the latest ledger entry of a prediction.
type latest struct {
	seq    int64
	stands bool
}

// load reads days into an empty SQLite database. board holds the rows of the board at asOf.
func load(ctx context.Context, days []*archive.Day, asOf time.Time, board []archive.BoardRow) (l *loaded, err error) {
	dir, err := os.MkdirTemp("", "pulsecast-recompute-*")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the database: %w", err)
	}
	l = &loaded{
		dir: dir, asOf: asOf, days: days, decided: decided(days),
		latest: map[uuid.UUID]latest{}, names: map[string]string{}, owners: map[string]string{},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	if l.db, err = database.Open(ctx, "sqlite://"+filepath.Join(dir, "recompute.db")); err != nil {
		return l, err
	}
	if _, err := l.db.Migrate(ctx); err != nil {
		return l, err
	}
	return l, l.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		for _, step := range []func(context.Context, bun.Tx) error{
			func(ctx context.Context, tx bun.Tx) error { return l.agents(ctx, tx, board) },
			l.ledger, l.predictions, l.references, settlement.RestoreClusters,
		} {
			if err := step(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
}

func (l *loaded) close() error {
	var err error
	if l.db != nil {
		err = l.db.Close()
	}
	return errors.Join(err, os.RemoveAll(l.dir))
}

// decided returns those of the days, oldest first, whose decisions count.
func decided(days []*archive.Day) []*archive.Day {
	manifests := make([]*archive.Manifest, len(days))
	for i, d := range days {
		manifests[i] = d.Manifest
	}
	abandoned := archive.Abandoned(manifests)
	return slices.DeleteFunc(slices.Clone(days), func(d *archive.Day) bool { return abandoned[d.Manifest.Day] })
}

// newest calls use with the latest row of each key, in chunks. Rows of later days come first. Rows
// with an empty key are skipped.
func newest[R any](ctx context.Context, days []*archive.Day, table string, key func(*R) string, use func([]R) error) error {
	seen := map[string]struct{}{}
	chunk := make([]R, 0, exportRows)
	for _, d := range slices.Backward(days) {
		for row, err := range archive.Rows[R](ctx, d, table) {
			if err != nil {
				return err
			}
			k := key(&row)
			if _, known := seen[k]; known {
				continue
			}
			if k != "" {
				seen[k] = struct{}{}
				chunk = append(chunk, row)
			}
			if len(chunk) == exportRows {
				if err := use(chunk); err != nil {
					return err
				}
				chunk = chunk[:0]
			}
		}
	}
	return use(chunk)
}

// agents writes the agents of the board as active, and all others as disabled.
func (l *loaded) agents(ctx context.Context, tx bun.Tx, board []archive.BoardRow) error {
	listed := make(map[string]bool, len(board))
	for i := range board {
		listed[board[i].Agent] = true
	}
	if err := l.readTexts(ctx); err != nil {
		return err
	}
	return newest(ctx, l.decided, archive.Agents, func(r *archive.AgentRow) string { return r.ID }, func(rows []archive.AgentRow) error {
		list := make([]agent.Agent, 0, len(rows))
		for i := range rows {
			a, err := agentOf(&rows[i], l.owners[rows[i].ID])
			if err != nil {
				return err
			}
			if !listed[rows[i].ID] {
				a.Status = agent.Disabled
			}
			if a.Kind != agent.Reference { // the migrations create the reference agents
				list = append(list, a)
			}
		}
		return agent.Restore(ctx, tx, list)
	})
}

// ledger writes the entries created up to asOf, oldest first.
func (l *loaded) ledger(ctx context.Context, tx bun.Tx) error {
	chunk := make([]settlement.Entry, 0, exportRows)
	flush := func() error {
		l.Entries += int64(len(chunk))
		err := settlement.RestoreEntries(ctx, tx, chunk)
		chunk = chunk[:0]
		return err
	}
	for _, d := range l.decided {
		for row, err := range archive.Rows[archive.LedgerRow](ctx, d, archive.Ledger) {
			if err != nil {
				return err
			}
			if row.CreatedAt.After(l.asOf) {
				continue
			}
			e, err := entryOf(&row)
			if err != nil {
				return fmt.Errorf("%s: %w", archive.Path(d.Manifest.Day, "ledger.parquet"), err)
			}
			// The entries of a correction have the same time, so their order in the file isn't that of their numbers.
			if known, ok := l.latest[e.PredictionID]; !ok || e.Seq > known.seq {
				l.latest[e.PredictionID] = latest{e.Seq, e.IsScore()}
			}
			if chunk = append(chunk, e); len(chunk) == exportRows {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}

// predictions writes the predictions in the ledger, with the status that their entries imply.
func (l *loaded) predictions(ctx context.Context, tx bun.Tx) error {
	missing := len(l.latest)
	err := newest(ctx, l.decided, archive.Predictions, func(r *archive.PredictionRow) string { return r.ID }, func(rows []archive.PredictionRow) error {
		list := make([]prediction.Prediction, 0, len(rows))
		for i := range rows {
			p, err := predictionOf(&rows[i])
			if err != nil {
				return err
			}
			entry, named := l.latest[p.ID]
			if !named {
				continue
			}
			missing--
			if p.Status = prediction.Open; entry.stands {
				p.Status = prediction.Resolved
			}
			list = append(list, p)
		}
		l.Predictions += int64(len(list))
		return prediction.Restore(ctx, tx, list)
	})
	if err == nil && missing > 0 {
		err = fmt.Errorf("the ledger names %d predictions that are in none of the days; earlier days are missing", missing)
	}
	return err
}

// references writes the reference rows that were settled up to asOf.
func (l *loaded) references(ctx context.Context, tx bun.Tx) error {
	key := func(r *archive.ReferenceRow) string {
		if r.SettledAt.After(l.asOf) {
			return ""
		}
		return r.Agent + " " + r.Market
	}
	return newest(ctx, l.decided, archive.References, key, func(rows []archive.ReferenceRow) error {
		list := make([]settlement.SettledReference, 0, len(rows))
		markets := make([]market.Market, 0, len(rows))
		for i := range rows {
			r, err := referenceOf(&rows[i])
			if err != nil {
				return err
			}
			list = append(list, r)
			markets = append(markets, market.Market{
				ID: r.MarketID, Source: "release", Question: r.MarketID, Title: r.MarketID, Outcomes: []string{r.Outcome}, Closed: true,
				FirstSeenAt: r.ObservedAt, ObservedAt: r.ObservedAt,
			})
		}
		l.References += int64(len(list))
		if err := (market.Store{}).Observe(ctx, tx, markets); err != nil {
			return err
		}
		return settlement.RestoreReferences(ctx, tx, list)
	})
}

// readTexts reads the handles and the owners of agents, where they are published. The latest day
// counts. Texts that don't have the hash of a row are not believed: no manifest vouches for them.
func (l *loaded) readTexts(ctx context.Context) error {
	for _, d := range l.decided {
		hashes := map[string][]byte{}
		for row, err := range archive.Rows[archive.AgentRow](ctx, d, archive.Agents) {
			if err != nil {
				return err
			}
			hashes[row.ID] = row.Texts
		}
		for row, err := range archive.TextRows(ctx, d, archive.Agents) {
			if errors.Is(err, archive.ErrNotExist) {
				break
			}
			if err != nil {
				return err
			}
			if !bytes.Equal(archive.TextHash(row.Salt, row.Content), hashes[row.Record]) {
				continue
			}
			var t archive.AgentTexts
			if json.Unmarshal(row.Content, &t) == nil && t.Handle != "" {
				l.names[row.Record], l.owners[row.Record] = strings.ToValidUTF8(t.Handle, ""), t.Owner
			}
		}
	}
	return nil
}
