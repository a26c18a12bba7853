package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
			Records: int64(len(part)), Content: content, CreatedAt: database.Now(now),
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
