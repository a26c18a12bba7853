package archive

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// segment holds rows of one table and source until their day is sealed.
type segment struct {
	bun.BaseModel `bun:"table:archive_segments,alias:s"`

	ID        uuid.UUID `bun:",pk,type:uuid"`
	Day       string
	Kind      string // the table
	Source    string
	Records   int64
	Content   []byte // one JSON row per line, compressed with zstd and its checksum
	CreatedAt time.Time
}

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

// maxSegment is the maximum size of a decompressed segment, in bytes.
const maxSegment = 256 << 20

// encoderWindow is the window of encoder in bytes. The segment of one reading is smaller. With the default of
// 8 MB, encoder would keep 16 MB of memory.
const encoderWindow = 1 << 20

// encoder and decoder are safe for concurrent use. Their constructors fail only for invalid
// options.
var (
	encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(encoderWindow), zstd.WithLowerEncoderMem(true))
	decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxSegment))
)

// Append stores rows of an observed table as segments, one for each day and source. Call it in the
// transaction that stores the same rows for the service.
func Append[T observed](ctx context.Context, tx bun.IDB, table string, rows []T, now time.Time) error {
	var list []segment
	for part := range grouped(rows) {
		content, err := encodeSegment(part)
		if err != nil {
			return fmt.Errorf("archive %s: %w", table, err)
		}
		list = append(list, segment{
			ID: database.NewID(now), Day: DayOf(part[0].at()), Kind: table, Source: part[0].from(),
			Records: int64(len(part)), Content: content, CreatedAt: database.Stored(now),
		})
	}
	if len(list) == 0 {
		return nil
	}
	if _, err := tx.NewInsert().Model(&list).Exec(ctx); err != nil {
		return fmt.Errorf("archive %s: %w", table, err)
	}
	return nil
}

// AppendEvents does for events what Append does for other tables.
func AppendEvents(ctx context.Context, tx bun.IDB, rows []EventRow, now time.Time) error {
	list := make([]eventSegment, len(rows))
	for i := range rows {
		list[i].EventRow = rows[i]
	}
	return Append(ctx, tx, Events, list, now)
}

// DayOf returns the UTC day of a moment.
func DayOf(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// grouped yields the rows by day and source, each group in the original order.
func grouped[T observed](rows []T) func(yield func([]T) bool) {
	return func(yield func([]T) bool) {
		type place struct{ day, source string }
		var order []place
		groups := map[place][]T{}
		for i := range rows {
			p := place{DayOf(rows[i].at()), rows[i].from()}
			if groups[p] == nil {
				order = append(order, p)
			}
			groups[p] = append(groups[p], rows[i])
		}
		for _, p := range order {
			if !yield(groups[p]) {
				return
			}
		}
	}
}

// encodeSegment encodes rows as the content of a segment.
func encodeSegment[T any](rows []T) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for i := range rows {
		if err := e.Encode(&rows[i]); err != nil {
			return nil, err
		}
	}
	return encoder.EncodeAll(b.Bytes(), nil), nil
}

// decodeSegment decodes a segment. It returns an error if the segment is damaged, or doesn't have
// records rows.
func decodeSegment[T any](content []byte, records int64) ([]T, error) {
	text, err := decoder.DecodeAll(content, nil)
	if err != nil {
		return nil, err
	}
	rows := make([]T, 0, min(max(records, 0), 1<<16))
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var row T
		if err := d.Decode(&row); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	if int64(len(rows)) != records {
		return nil, fmt.Errorf("it holds %d rows instead of %d", len(rows), records)
	}
	return slices.Clip(rows), nil
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
	err = readJSON(ctx, s, Path(day, segmentsName), &ids)
	if errors.Is(err, ErrNotExist) {
		return nil, nil // the day was written without segments
	}
	return ids, err
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
