package market

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/plaintext"
)

// Event is an upstream event, which groups sibling markets, as last observed. Empty strings, zero times and nil
// numbers mean unknown.
type Event struct {
	bun.BaseModel `bun:"table:market_events,alias:e"`

	ID          string    `bun:",pk"`
	Slug        string    `bun:",nullzero"`
	Title       string    `bun:",nullzero"` // trimmed; empty if the source sent none
	URL         string    `bun:",nullzero"` // the public page
	Description string    `bun:",nullzero"`
	ClosesAt    time.Time `bun:",nullzero"` // scheduled close
	Volume      *float64  // of all its markets so far, in US dollars
	Volume24h   *float64  `bun:"volume_24h"`

	// Exclusive is true if exactly one of its markets can settle at Yes, and nil if that is unknown. Only the
	// prices of an exclusive event should sum up to 1.
	Exclusive *bool
	// ByPrice is true if the source orders the markets by price rather than by position.
	ByPrice bool

	// Tags are the slugs of the event itself, for markets that come without tags. TagsKnown says that the
	// source has sent them. TagsAskedAt is the time of the latest request for them.
	Tags        []string `bun:"type:json,nullzero"`
	TagsKnown   bool
	TagsAskedAt time.Time `bun:",nullzero"`

	UpdatedAt time.Time // of the last tick that saw it

	Received string `bun:"-" json:"-"` // as in Market

	derived bool // derived from its markets, because the source sent no event
}

// eventsOf returns the events of a reading. It adds events that only markets refer to: their volume is the sum
// of their markets', their close the latest. Events are sorted by id, so that concurrent writers lock rows in
// the same order.
func eventsOf(markets []Market, given []Event) []Event {
	at := map[string]int{}
	var out []Event
	for _, e := range given {
		if _, twice := at[e.ID]; !twice && e.ID != "" {
			at[e.ID] = len(out)
			e.UpdatedAt = database.Stored(e.UpdatedAt)
			out = append(out, e)
		}
	}
	for i := range markets {
		m := &markets[i]
		if m.EventID == "" {
			continue
		}
		j, known := at[m.EventID]
		if !known {
			j, at[m.EventID] = len(out), len(out)
			out = append(out, Event{ID: m.EventID, UpdatedAt: database.Stored(m.ObservedAt), derived: true})
		}
		if out[j].derived {
			out[j].take(m)
		}
	}
	slices.SortFunc(out, func(a, b Event) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// nameEvents makes the markets of events findable by the titles of these events.
func nameEvents(markets []Market, events []Event) {
	titles := make(map[string]string, len(events))
	for i := range events {
		titles[events[i].ID] = plaintext.Fold(events[i].Title)
	}
	for i := range markets {
		markets[i].EventSearchText = titles[markets[i].EventID]
	}
}

// take adds the values of a market to a derived event.
func (e *Event) take(m *Market) {
	e.Title, e.Slug = cmp.Or(e.Title, m.EventTitle), cmp.Or(e.Slug, m.EventSlug)
	if m.ClosesAt.After(e.ClosesAt) {
		e.ClosesAt = m.ClosesAt
	}
	if m.Volume != nil {
		e.Volume = plus(e.Volume, *m.Volume)
	}
	if m.Volume24h != nil {
		e.Volume24h = plus(e.Volume24h, *m.Volume24h)
	}
}

// storeEvents stores events. If a reading leaves out a value, the stored one stays. If a later reading is
// already stored, nothing changes, unless that one is later than plausible. Values of a derived event never replace
// values that the source sent.
func storeEvents(ctx context.Context, db bun.IDB, events []Event, plausible time.Time) error {
	for part := range slices.Chunk(events, chunk) {
		given := slices.DeleteFunc(slices.Clone(part), func(e Event) bool { return e.derived })
		derived := slices.DeleteFunc(slices.Clone(part), func(e Event) bool { return !e.derived })
		if err := upsertEvents(ctx, db, given, plausible, "COALESCE(EXCLUDED.?, e.?)"); err != nil {
			return err
		}
		// Only an event that the source described has a URL.
		err := upsertEvents(ctx, db, derived, plausible, "CASE WHEN e.url IS NULL THEN COALESCE(EXCLUDED.?, e.?) ELSE COALESCE(e.?, EXCLUDED.?) END")
		if err != nil {
			return err
		}
	}
	return nil
}

// upsertEvents stores events. merged is the SQL expression that combines the old and the new value of a column.
func upsertEvents(ctx context.Context, db bun.IDB, events []Event, plausible time.Time, merged string) error {
	if len(events) == 0 {
		return nil
	}
	q := db.NewInsert().Model(&events).On("CONFLICT (id) DO UPDATE").
		Set("by_price = CASE WHEN ? THEN e.by_price ELSE EXCLUDED.by_price END", events[0].derived).Set("updated_at = EXCLUDED.updated_at").
		Set("tags_known = (e.tags_known OR EXCLUDED.tags_known)")
	for _, column := range []string{
		"title", "slug", "url", "description", "closes_at", "volume", "volume_24h", "exclusive", "tags", "tags_asked_at",
	} {
		c := bun.Ident(column)
		args := slices.Repeat([]any{c}, strings.Count(merged, "?"))
		q = q.Set("? = "+merged, append([]any{c}, args...)...)
	}
	q = q.Where("EXCLUDED.updated_at >= e.updated_at OR e.updated_at > ?", plausible)
	if _, err := q.Exec(ctx); err != nil {
		return fmt.Errorf("store events: %w", err)
	}
	return nil
}

// TagsTried records that the source was asked for the tags of events at the given time and didn't send them. A new event
// bears the earliest time, so that the reading which named it is stored although it was made before.
func (Store) TagsTried(ctx context.Context, db bun.IDB, eventIDs []string, at time.Time) error {
	at = database.Stored(at)
	var rows []Event
	for _, id := range slices.Sorted(slices.Values(eventIDs)) {
		rows = append(rows, Event{ID: id, TagsAskedAt: at, UpdatedAt: time.Unix(0, 0)})
	}
	for part := range slices.Chunk(rows, chunk) {
		_, err := db.NewInsert().Model(&part).On("CONFLICT (id) DO UPDATE").
			Set("tags_asked_at = EXCLUDED.tags_asked_at").Exec(ctx)
		if err != nil {
			return fmt.Errorf("record asked events: %w", err)
		}
	}
	return nil
}

// EventByID returns one event. found is false if the id is unknown. The id may contain any bytes.
func (Store) EventByID(ctx context.Context, db bun.IDB, id string) (e *Event, found bool, err error) {
	if plaintext.Check(id, false) != "" {
		return nil, false, nil
	}
	e = new(Event)
	err = db.NewSelect().Model(e).Where("e.id = ?", id).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read event: %w", err)
	}
	e.utc()
	return e, true, nil
}

// EventsByID returns events by id. It leaves out unknown ids.
func (Store) EventsByID(ctx context.Context, db bun.IDB, ids []string) (map[string]*Event, error) {
	out := make(map[string]*Event, len(ids))
	for part := range slices.Chunk(ids, chunk) {
		var found []*Event
		if err := db.NewSelect().Model(&found).Where("e.id IN ?", bun.Tuple(part)).Scan(ctx); err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
		for _, e := range found {
			e.utc()
			out[e.ID] = e
		}
	}
	return out, nil
}

// Name returns the event's title, else the title or question of its first market, else its id.
func (e *Event) Name(markets []Market) string {
	if e.Title != "" {
		return e.Title
	}
	if len(markets) > 0 {
		return markets[0].Name()
	}
	return e.ID
}

// Subject returns the category and the tags of an event. If the event has none, it returns those of the first
// market that has some.
func (e *Event) Subject(markets []Market) (category string, tags []string) {
	category, tags = CategoryOf(e.Tags...), e.Tags
	for i := range markets {
		category = cmp.Or(category, markets[i].Category)
		if len(tags) == 0 {
			tags = markets[i].Tags
		}
	}
	return category, tags
}

// utc converts times to UTC, because drivers return them in the local zone.
func (e *Event) utc() {
	for _, t := range []*time.Time{&e.ClosesAt, &e.TagsAskedAt, &e.UpdatedAt} {
		*t = t.UTC()
	}
}

func plus(sum *float64, v float64) *float64 {
	if sum != nil {
		v += *sum
	}
	return &v
}
