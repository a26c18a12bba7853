package archive

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// eventSegment is an EventRow in a segment.
type eventSegment struct {
	EventRow
	Same bool `json:",omitempty"` // equal to the row before, except for the volumes, which are set
}

// newsSegment is a NewsRow in a segment.
type newsSegment struct {
	NewsRow
	Said *NewsTexts `json:",omitempty"` // nil if equal to the row before
}

// waiting is a segment without its content.
type waiting struct {
	ID      uuid.UUID `bun:",type:uuid"`
	Kind    string
	Source  string
	Records int64
}

// segmentsUpTo lists the segments that a day includes, in the order they were appended.
func segmentsUpTo(ctx context.Context, db bun.IDB, day string) (list []waiting, err error) {
	err = db.NewSelect().Model((*segment)(nil)).Column("id", "kind", "source", "records").
		Where("day <= ?", day).OrderExpr("id").Scan(ctx, &list)
	if err != nil {
		return nil, fmt.Errorf("list segments: %w", err)
	}
	return list, nil
}

// deletedAtOnce is how many segments one transaction deletes. A day can have 40,000.
const deletedAtOnce = 200

// deleteSealed deletes the segments that a recorded day contains. Segments that came later stay for the next day. If
// it is interrupted, the next run of the job deletes the rest.
func (s *Sealer) deleteSealed(ctx context.Context, day string) error {
	left, err := segmentsUpTo(ctx, s.DB.Reader, day)
	if err != nil || len(left) == 0 {
		return err
	}
	ids, err := readSegmentList(ctx, s.Storage, day)
	if err != nil {
		return err
	}
	waits := make(map[uuid.UUID]bool, len(left))
	for i := range left {
		waits[left[i].ID] = true
	}
	ids = slices.DeleteFunc(ids, func(id uuid.UUID) bool { return !waits[id] })
	for part := range slices.Chunk(ids, deletedAtOnce) {
		err := s.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error { return deleteSegments(ctx, tx, part) })
		if err != nil {
			return err
		}
	}
	return nil
}

func deleteSegments(ctx context.Context, db bun.IDB, ids []uuid.UUID) error {
	if _, err := db.NewDelete().Model((*segment)(nil)).Where("id IN (?)", bun.List(ids)).Exec(ctx); err != nil {
		return fmt.Errorf("delete segments: %w", err)
	}
	return nil
}

// segmentsName is the list of the segments in a day. If a sealer stops after sealing a day and
// before deleting its segments, the list says which segments to delete.
const segmentsName = "segments.json"

func readSegmentList(ctx context.Context, s Storage, day string) (ids []uuid.UUID, err error) {
	content, err := ReadObject(ctx, s, Path(day, segmentsName))
	if errors.Is(err, ErrNotExist) {
		return nil, nil // the day was written without segments
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(content, &ids); err != nil {
		return nil, fmt.Errorf("%s: %w", Path(day, segmentsName), err)
	}
	return ids, nil
}

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
	key, err := saltKey(ctx, s.DB, day)
	if err != nil {
		return err
	}
	o := &observedTables{db: s.DB.Reader, w: w, list: list, salt: salter(key)}
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

// saltKey returns the key of a day's salts. Two nodes that seal the same day use the same key, so
// they write the same files. The key is deleted when the next day is sealed, because no node can
// still be sealing this one. Sealer.adopt tells by the key whether this database has begun to seal
// the day.
func saltKey(ctx context.Context, db bun.IDB, day string) (string, error) {
	if _, err := database.AddSetting(ctx, db, saltSetting(day), rand.Text()); err != nil {
		return "", err
	}
	key, _, err := database.Setting(ctx, db, saltSetting(day))
	return key, err
}

// forgetSalt deletes the key of the day before.
func (s *Sealer) forgetSalt(ctx context.Context, tx bun.IDB, day string) error {
	from, _, err := bounds(day)
	if err != nil {
		return err
	}
	return database.RemoveSetting(ctx, tx, saltSetting(DayOf(from.AddDate(0, 0, -1))))
}

func saltSetting(day string) string { return "archive_salt_" + day }

func salter(key string) func(record string, content []byte) []byte {
	return func(record string, content []byte) []byte {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(record + "\x00"))
		mac.Write(content)
		return mac.Sum(nil)[:16]
	}
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

// segmentRows yields the rows of the segments of a table and source. It skips a segment that can't
// be read. The segment's bytes are stored in the folder of the day and named in the manifest.
func segmentRows[T any](ctx context.Context, o *observedTables, table, source string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for _, w := range o.list {
			if w.Kind != table || w.Source != source {
				continue
			}
			content, err := segmentContent(ctx, o.db, w.ID)
			if err != nil {
				yield(none, err)
				return
			}
			rows, err := decodeSegment[T](content, w.Records)
			if err != nil {
				if err := o.w.keepUnreadable(ctx, &w, content, err); err != nil {
					yield(none, err)
					return
				}
				continue
			}
			for i := range rows {
				if !yield(rows[i], nil) {
					return
				}
			}
		}
	}
}

// segmentContent reads a segment. If the segment is gone, another node has sealed it, and the rows
// read so far must not be written.
func segmentContent(ctx context.Context, db bun.IDB, id uuid.UUID) (content []byte, err error) {
	err = db.NewSelect().Model((*segment)(nil)).Column("content").Where("id = ?", id).Scan(ctx, &content)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("segment %s: another node sealed it: %w", id, ErrExist)
	}
	if err != nil {
		return nil, fmt.Errorf("read segment %s: %w", id, err)
	}
	return content, nil
}
