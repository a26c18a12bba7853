package demo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
)

const (
	// TapeDays is how many full UTC days before the first start the demo's archive holds.
	TapeDays = 30
	// settingTape is the setting with the number of appended days.
	settingTape = "demo_tape"
	// tapeEvery is the time between two readings on the tape, so that a prediction at any time has a view after
	// it.
	tapeEvery = 10 * time.Minute
	// No reading is added from aloneBefore before a sample prediction's publication until aloneAfter after it.
	// Otherwise the prediction's baseline would change.
	aloneBefore = 70 * time.Minute
	aloneAfter  = 20 * time.Minute
)

// Tape appends the readings of the sample's last full days to the archive, once. They are what the sample world
// showed on each day, as ingest appends what a source shows. After an interruption, Tape continues. No day may
// be sealed while it runs.
func Tape(ctx context.Context, db *database.DB) error {
	text, started, err := database.Setting(ctx, db.Reader, settingStart)
	if err != nil || !started {
		return err
	}
	start, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Errorf("setting %s: %w", settingStart, err)
	}
	done, err := progress(ctx, db.Reader, settingTape)
	if err != nil || done >= TapeDays {
		return err
	}
	t := newTape(newSeeding(db, start))
	for ; done < TapeDays; done++ {
		if err := t.append(ctx, db, done); err != nil {
			return fmt.Errorf("append day %d of the demo's archive: %w", done+1, err)
		}
	}
	return nil
}

// tape holds the sample's past as readings.
type tape struct {
	*seeding
	first    time.Time // the first day
	recorder *archive.Recorder
	known    map[string][]market.Price // the sample world's readings, by market, in order of time
	spoken   map[string][]time.Time    // publication times, by market
	events   map[string]*market.Event
}

func newTape(r *seeding) *tape {
	t := &tape{
		seeding: r, first: r.start.UTC().Truncate(day).AddDate(0, 0, -TapeDays),
		recorder: archive.NewRecorder(func() time.Time { return r.start }),
		known:    map[string][]market.Price{}, spoken: map[string][]time.Time{}, events: map[string]*market.Event{},
	}
	for _, m := range r.markets {
		t.known[m.ID] = slices.Clone(m.past)
	}
	for _, p := range r.ticks {
		t.known[p.MarketID] = append(t.known[p.MarketID], p)
	}
	for i := range r.predictions {
		p := &r.predictions[i]
		t.spoken[p.MarketID] = append(t.spoken[p.MarketID], p.CreatedAt)
	}
	for id := range t.known {
		slices.SortFunc(t.known[id], func(a, b market.Price) int { return a.ObservedAt.Compare(b.ObservedAt) })
		slices.SortFunc(t.spoken[id], time.Time.Compare)
	}
	for i := range r.events {
		t.events[r.events[i].ID] = &r.events[i]
	}
	return t
}

// tapeDay holds the rows of one day.
type tapeDay struct {
	from, to time.Time
	facts    []archive.MarketRow
	events   []archive.EventRow
	prices   []archive.PriceRow
	closings []archive.ClosingRow
}

// append stores a day in one transaction.
func (t *tape) append(ctx context.Context, db *database.DB, number int) error {
	d := &tapeDay{from: t.first.AddDate(0, 0, number)}
	d.to = d.from.AddDate(0, 0, 1)
	for _, m := range t.markets {
		t.read(d, m)
	}
	items := t.posts(d)
	return db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		for _, store := range []func() error{
			func() error { return archive.Append(ctx, tx, archive.Markets, d.facts, d.to) },
			func() error { return archive.AppendEvents(ctx, tx, d.events, d.to) },
			func() error { return archive.Append(ctx, tx, archive.Prices, d.prices, d.to) },
			func() error { return archive.Append(ctx, tx, archive.Closings, d.closings, d.to) },
			func() error { return t.appendPosts(ctx, tx, items) },
			func() error { return database.SetSetting(ctx, tx, settingTape, strconv.Itoa(number+1)) },
		} {
			if err := store(); err != nil {
				return err
			}
		}
		return nil
	})
}

// read adds a market's readings of a day.
func (t *tape) read(d *tapeDay, m *sampleMarket) {
	closed := m.final != nil && m.ClosedAt.Before(d.to)
	if !m.opened.Before(d.to) || closed && m.ClosedAt.Before(d.from) {
		return
	}
	begin, end := d.from, d.to
	if m.opened.After(begin) {
		begin = m.opened
	}
	if closed {
		end = m.ClosedAt
	}
	if begin.Before(end) {
		standing := m.standing(begin, m.perOutcome(m.path.at(begin, 0, nil)))
		d.facts = append(d.facts, archive.MarketRowOf(&standing))
		d.event(t.events[m.EventID], begin)
		t.prices(d, m, begin, end)
	}
	if closed {
		closing := m.closing()
		d.closings = append(d.closings, archive.ClosingRowOf(&closing))
	}
}

// event adds the row of an event, once per day.
func (d *tapeDay) event(e *market.Event, at time.Time) {
	if e == nil || slices.ContainsFunc(d.events, func(r archive.EventRow) bool { return r.Event == e.ID }) {
		return
	}
	seen := *e
	seen.UpdatedAt = at
	d.events = append(d.events, archive.EventRowOf(&seen, Source, true))
}

// prices adds the sample world's readings of a market, and others between them.
func (t *tape) prices(d *tapeDay, m *sampleMarket, begin, end time.Time) {
	known, spoken := t.known[m.ID], t.spoken[m.ID]
	i := sort.Search(len(known), func(i int) bool { return !known[i].ObservedAt.Before(begin) })
	var last time.Time
	for ; i < len(known) && known[i].ObservedAt.Before(end); i++ {
		if p := &known[i]; !p.ObservedAt.Equal(last) { // of two at the same time, the first is stored
			d.add(m, p.ObservedAt, p.Prices)
			last = p.ObservedAt
		}
	}
	if len(m.past) < 2 {
		return
	}
	ripple := dice("tape of " + m.ID + " on " + d.from.Format(time.DateOnly))
	for at := d.from; at.Before(end); at = at.Add(tapeEvery) {
		n := sort.Search(len(spoken), func(i int) bool { return spoken[i].Add(aloneAfter).After(at) })
		if at.Before(begin) || n < len(spoken) && spoken[n].Add(-aloneBefore).Before(at) {
			continue
		}
		d.add(m, at, m.rippled(at, ripple))
	}
}

func (d *tapeDay) add(m *sampleMarket, at time.Time, prices []float64) {
	standing := m.standing(at, prices)
	d.prices = append(d.prices, archive.PriceRowOf(&standing))
}

// posts returns the news of a day: a part of the sample's posts, with ids of that day.
func (t *tape) posts(d *tapeDay) []news.Item {
	number := int(d.from.Unix() / int64(day/time.Second))
	items := map[string]news.Item{}
	for i, item := range sampleNews(d.to) {
		if i%postsEvery != number%postsEvery {
			continue
		}
		rolls := dice("tape of " + item.ID + " on " + d.from.Format(time.DateOnly))
		item.PostedAt = d.from.Add(time.Duration(rolls.IntN(22*60)) * time.Minute)
		item.ID += "-" + d.from.Format("0102")
		item.Permalink += d.from.Format("-0102")
		item.ObservedAt = item.PostedAt.Add(8 * time.Minute)
		items[item.ID] = item
	}
	list := slices.Collect(maps.Values(items))
	slices.SortFunc(list, func(a, b news.Item) int { return cmp.Or(a.PostedAt.Compare(b.PostedAt), cmp.Compare(a.ID, b.ID)) })
	return list
}

// postsEvery says that one in this many of the sample's posts appears on a day.
const postsEvery = 4

// appendPosts appends each post twice: as first seen, and an hour later.
func (t *tape) appendPosts(ctx context.Context, tx bun.Tx, items []news.Item) error {
	for _, later := range []time.Duration{0, time.Hour} {
		seen := slices.Clone(items)
		for i := range seen {
			if seen[i].ObservedAt = seen[i].ObservedAt.Add(later); later == 0 {
				seen[i].Score, seen[i].Comments = seen[i].Score/9, seen[i].Comments/9
			}
		}
		kept, err := t.recorder.News(ctx, tx, seen)
		if err != nil {
			return err
		}
		kept()
	}
	return nil
}
