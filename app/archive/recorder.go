package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
)

// Recorder appends readings to the archive. Facts are the descriptions of markets and events, and
// the texts of news. The Recorder appends a fact when it differs from the last one appended, and
// once each UTC day, so that each day is complete. Its methods run in a transaction that stores
// rows of a reading. Call the function that they return after the commit.
type Recorder struct {
	now  func() time.Time
	name string // identifies this Recorder among those of all nodes

	mu    sync.Mutex
	facts map[fact][sha256.Size]byte
}

// fact identifies a fact whose hash is remembered.
type fact struct{ feed, day, table, record string }

// NewRecorder returns a Recorder that remembers no facts.
func NewRecorder(now func() time.Time) *Recorder {
	return &Recorder{now: now, name: uuid.NewString(), facts: map[fact][sha256.Size]byte{}}
}

// change holds the facts of a transaction.
type change struct {
	r     *Recorder
	feed  string
	facts map[fact][sha256.Size]byte
}

// begin prepares an append for a feed. If another Recorder appended last, the archive may have newer facts
// than r. So r forgets those of the feed, and all are appended again.
func (r *Recorder) begin(ctx context.Context, tx bun.Tx, feed string) (*change, error) {
	setting := "archive_recorder_" + feed
	last, _, err := database.Setting(ctx, tx, setting)
	if err != nil {
		return nil, err
	}
	c := &change{r: r, feed: feed, facts: map[fact][sha256.Size]byte{}}
	if last != r.name {
		r.forget(feed)
		return c, database.SetSetting(ctx, tx, setting, r.name)
	}
	return c, nil
}

func (r *Recorder) forget(feed string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.facts, func(f fact, _ [sha256.Size]byte) bool { return f.feed == feed })
}

// kept remembers the facts of a committed transaction, and forgets those from before the previous day. A reading after
// midnight may still have records of that day.
func (c *change) kept() {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	newest := map[string]string{}
	for f, hash := range c.facts {
		newest[f.table] = max(newest[f.table], f.day)
		c.r.facts[f] = hash
	}
	for table, day := range newest {
		if start, _, err := Bounds(day); err == nil {
			newest[table] = DayOf(start.AddDate(0, 0, -1))
		}
	}
	maps.DeleteFunc(c.r.facts, func(f fact, _ [sha256.Size]byte) bool { return f.day < newest[f.table] })
}

// same reports whether a fact was appended last with this hash. Otherwise it forgets the fact until kept, because
// the commit may be stored although its answer is lost.
func (r *Recorder) same(f fact, hash [sha256.Size]byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before, found := r.facts[f]; found && before == hash {
		return true
	}
	delete(r.facts, f)
	return false
}

// isNew reports whether a fact differs from the last one appended on its day.
func (c *change) isNew(table, record string, at time.Time, value any) (bool, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return false, fmt.Errorf("archive %s %s: %w", table, record, err)
	}
	f, hash := fact{c.feed, DayOf(at), table, record}, sha256.Sum256(text)
	before, found := c.facts[f]
	c.facts[f] = hash
	if found {
		return before != hash, nil
	}
	return !c.r.same(f, hash), nil
}

// Markets appends one reading of markets and their events.
func (r *Recorder) Markets(ctx context.Context, tx bun.Tx, observed []market.Market, events []market.Event) (kept func(), err error) {
	c, err := r.begin(ctx, tx, "markets")
	if err != nil {
		return nil, err
	}
	var rows marketRows
	for i := range observed {
		if err := rows.add(c, &observed[i]); err != nil {
			return nil, err
		}
	}
	for i := range events {
		if err := rows.addEvent(c, &events[i], observed); err != nil {
			return nil, err
		}
	}
	return c.kept, rows.append(ctx, tx, r.now())
}

// marketRows are the rows of a reading.
type marketRows struct {
	facts    []MarketRow
	events   []eventSegment
	prices   []PriceRow
	closings []ClosingRow
}

func (rows *marketRows) add(c *change, m *market.Market) error {
	row := MarketRowOf(m)
	changed, err := c.isNew(Markets, m.ID, m.ObservedAt, row.without())
	if err != nil {
		return err
	}
	if changed {
		rows.facts = append(rows.facts, row)
	}
	if !m.Closed {
		rows.prices = append(rows.prices, PriceRowOf(m))
		return nil
	}
	closing := ClosingRowOf(m)
	if changed, err = c.isNew(Closings, m.ID, m.ObservedAt, closing.without()); changed {
		rows.closings = append(rows.closings, closing)
	}
	return err
}

// addEvent adds an event, unless only its id is known.
func (rows *marketRows) addEvent(c *change, e *market.Event, observed []market.Market) error {
	if e.Title == "" && e.Slug == "" && len(e.Tags) == 0 {
		return nil
	}
	row := EventRowOf(e, cmp.Or(sourceOf(observed), "unknown"), len(observed) > 0 && observed[0].Sample)
	said, err := c.isNew(Events, e.ID, e.UpdatedAt, row.without())
	if err != nil {
		return err
	}
	traded, err := c.isNew(eventVolumes, e.ID, e.UpdatedAt, []*float64{e.Volume, e.Volume24h})
	switch {
	case err != nil:
		return err
	case said:
		rows.events = append(rows.events, eventSegment{EventRow: row})
	case traded:
		same := EventRow{Event: row.Event, Observed: row.Observed, Volume: row.Volume, Volume24h: row.Volume24h}
		rows.events = append(rows.events, eventSegment{EventRow: same, Same: true})
	}
	return nil
}

// eventVolumes is the table name under which the volumes of events are remembered as facts.
const eventVolumes = "event_volumes"

func sourceOf(observed []market.Market) string {
	if len(observed) == 0 {
		return ""
	}
	return observed[0].Source
}

func (rows *marketRows) append(ctx context.Context, tx bun.Tx, now time.Time) error {
	for _, store := range []func() error{
		func() error { return Append(ctx, tx, Markets, rows.facts, now) },
		func() error { return Append(ctx, tx, Events, rows.events, now) },
		func() error { return Append(ctx, tx, Prices, rows.prices, now) },
		func() error { return Append(ctx, tx, Closings, rows.closings, now) },
	} {
		if err := store(); err != nil {
			return err
		}
	}
	return nil
}

// News appends the items of a reading of news that changed.
func (r *Recorder) News(ctx context.Context, tx bun.Tx, items []news.Item) (kept func(), err error) {
	feed := "news"
	if len(items) > 0 { // the shown source and the others have separate Recorders, even on one node
		feed += "_" + items[0].Source
	}
	c, err := r.begin(ctx, tx, feed)
	if err != nil {
		return nil, err
	}
	var rows []newsSegment
	for i := range items {
		row, said := newsRow(&items[i]), textsOf(&items[i])
		changed, err := c.isNew(News, row.Item, row.ObservedAt, row.without())
		if err != nil {
			return nil, err
		}
		reworded, err := c.isNew(newsWords, row.Item, row.ObservedAt, said)
		if err != nil {
			return nil, err
		}
		if !reworded {
			said = nil
		}
		if changed || reworded {
			rows = append(rows, newsSegment{NewsRow: row, Said: said})
		}
	}
	return c.kept, Append(ctx, tx, News, rows, r.now())
}

// newsWords is the table name under which the texts of news are remembered as facts.
const newsWords = "news_texts"
