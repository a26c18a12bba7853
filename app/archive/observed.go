package archive

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// observedTables writes the observed tables of one day.
type observedTables struct {
	db   bun.IDB
	w    *DayWriter
	list []waiting
	salt func(record string, content []byte) []byte
}

func (s *Sealer) writeObserved(ctx context.Context, w *DayWriter, day string) error {
	list, err := segmentsUpTo(ctx, s.DB.Reader, day)
	if err != nil {
		return err
	}
	if err := s.stillOpen(ctx, day); err != nil {
		return err
	}
	salt, err := Salts(ctx, s.DB, day)
	if err != nil {
		return err
	}
	o := &observedTables{db: s.DB.Reader, w: w, list: list, salt: salt}
	if err := o.write(ctx); err != nil {
		return err
	}
	for _, u := range w.manifest.Unreadable {
		s.Log.Error("a segment of the archive can't be read and is kept unchanged", "day", day, "file", u.Name, "reason", u.Reason)
	}
	ids := make([]uuid.UUID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	return putJSON(ctx, s.Storage, Path(day, segmentsName), ids)
}

func (o *observedTables) write(ctx context.Context) error {
	for _, table := range []struct {
		name  string
		write func(ctx context.Context, source string) error
	}{
		{Markets, func(ctx context.Context, source string) error {
			return writeSorted(ctx, o, Markets, source, func(r *MarketRow) string { return r.Market })
		}},
		{Events, o.writeEvents},
		{Prices, func(ctx context.Context, source string) error {
			return writeSorted(ctx, o, Prices, source, func(r *PriceRow) string { return r.Market })
		}},
		{News, o.writeNews},
		{Closings, func(ctx context.Context, source string) error {
			return writeSorted(ctx, o, Closings, source, func(r *ClosingRow) string { return r.Market })
		}},
	} {
		for _, source := range o.sources(table.name) {
			if err := table.write(ctx, source); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *observedTables) sources(table string) []string {
	var list []string
	for _, w := range o.list {
		if w.Kind == table {
			list = append(list, w.Source)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func writeSorted[T observed](ctx context.Context, o *observedTables, table, source string, key func(*T) string) error {
	return WriteTable(ctx, o.w, table, source, sorted(segmentRows[T](ctx, o, table, source), byKey(key), sortRows))
}

// byKey returns a comparison of rows by key, then by the time observed.
func byKey[T observed](key func(*T) string) func(a, b *T) int {
	return func(a, b *T) int {
		return cmp.Or(strings.Compare(key(a), key(b)), (*a).at().Compare((*b).at()))
	}
}

func (o *observedTables) writeEvents(ctx context.Context, source string) error {
	rows := sorted(segmentRows[eventSegment](ctx, o, Events, source), byKey(func(r *eventSegment) string { return r.Event }), sortRows)
	return WriteTable(ctx, o.w, Events, source, func(yield func(EventRow, error) bool) {
		var last EventRow
		for row, err := range rows {
			if row.Same && last.Event == row.Event {
				full := last
				full.Observed, full.Volume, full.Volume24h = row.Observed, row.Volume, row.Volume24h
				row.EventRow = full
			}
			last = row.EventRow
			if !yield(row.EventRow, err) {
				return
			}
		}
	})
}

// writeNews writes the rows of a source, and their texts to a separate file.
func (o *observedTables) writeNews(ctx context.Context, source string) error {
	rows := sorted(segmentRows[newsSegment](ctx, o, News, source), byKey(func(r *newsSegment) string { return r.Item }), sortRows)
	texts := newsTexts{salt: o.salt}
	err := WriteTable(ctx, o.w, News, source, func(yield func(NewsRow, error) bool) {
		for row, err := range rows {
			if err == nil {
				err = texts.take(&row)
			}
			if !yield(row.NewsRow, err) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return o.w.WriteTexts(ctx, News, source, each(texts.list))
}

// newsTexts collects the texts of rows that are ordered by item.
type newsTexts struct {
	salt    func(record string, content []byte) []byte
	list    []TextRow
	item    string // item of the previous row
	current []byte // text hash of the previous row
}

// take sets a row's text hash, and collects its text if it is new.
func (t *newsTexts) take(row *newsSegment) error {
	if row.Item != t.item {
		t.item, t.current = row.Item, nil
	}
	if row.Said != nil {
		content, err := json.Marshal(row.Said)
		if err != nil {
			return err
		}
		text := TextRow{Record: row.Item, Salt: t.salt(row.Item, content), Content: content}
		t.current = TextHash(text.Salt, content)
		if !t.has(&text) {
			t.list = append(t.list, text)
		}
	}
	row.Texts = t.current
	return nil
}

func (t *newsTexts) has(text *TextRow) bool {
	for i := len(t.list) - 1; i >= 0 && t.list[i].Record == text.Record; i-- {
		if bytes.Equal(t.list[i].Content, text.Content) {
			return true
		}
	}
	return false
}
