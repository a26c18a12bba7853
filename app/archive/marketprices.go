package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/parquet-go/parquet-go"
)

// marketColumn is the first column of PriceRow.
const marketColumn = 0

// MarketPrices calls use with each reading of a market in a day that was observed at from or later
// and before to, oldest first. It reads only the market column of those row groups that may contain
// the market, and then only that market's rows. It stops early if use returns false.
func MarketPrices(ctx context.Context, d *Day, market string, from, to time.Time, use func(*PriceRow) bool) error {
	for _, f := range d.Manifest.Of(Prices) {
		if f.Last.Before(from) || !f.First.Before(to) {
			continue
		}
		name := Path(d.Manifest.Day, f.Name)
		more, err := marketPrices(ctx, d.storage, name, market, func(r *PriceRow) bool {
			return r.ObservedAt.Before(from) || !r.ObservedAt.Before(to) || use(r)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !more {
			return nil
		}
	}
	return nil
}

func marketPrices(ctx context.Context, s Storage, name, market string, use func(*PriceRow) bool) (more bool, err error) {
	o, err := s.Open(ctx, name)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	file, err := openParquet(o, o.Size())
	if err == nil {
		err = sameColumns(file.Schema(), parquet.SchemaOf(PriceRow{}))
	}
	if err != nil {
		return false, err
	}
	for i, group := range file.RowGroups() {
		var first, n int64
		err := guarded(func() (err error) {
			if mayHold(file, i, market) {
				first, n, err = rowsOfMarket(group, market)
			}
			return err
		})
		if err != nil {
			return false, err
		}
		if n == 0 {
			continue
		}
		if more, err := readMarket(ctx, group, first, n, use); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// mayHold reports whether a row group may contain a market, according to its bounds.
func mayHold(file *parquet.File, group int, market string) bool {
	stats := file.Metadata().RowGroups[group].Columns[marketColumn].MetaData.Statistics
	if stats.MinValue == nil || stats.MaxValue == nil {
		return true
	}
	return string(stats.MinValue) <= market && market <= string(stats.MaxValue)
}

// rowsOfMarket finds the rows of a market in a row group. They are contiguous.
func rowsOfMarket(group parquet.RowGroup, market string) (first, n int64, err error) {
	pages := group.ColumnChunks()[marketColumn].Pages()
	defer func() { err = errors.Join(err, pages.Close()) }()
	values := make([]parquet.Value, readRows)
	for row := int64(0); ; {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return first, n, nil
		}
		if err != nil {
			return 0, 0, err
		}
		for reader := page.Values(); ; {
			count, err := reader.ReadValues(values)
			for _, v := range values[:count] {
				if string(v.ByteArray()) == market {
					if n == 0 {
						first = row
					}
					n++
				}
				row++
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return 0, 0, err
			}
		}
		parquet.Release(page)
		if n > 0 && first+n < row {
			return first, n, nil // the rows of the next market have started
		}
	}
}

func readMarket(ctx context.Context, group parquet.RowGroup, first, n int64, use func(*PriceRow) bool) (more bool, err error) {
	r := parquet.NewGenericRowGroupReader[PriceRow](group)
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := guarded(func() error { return r.SeekToRow(first) }); err != nil {
		return false, err
	}
	rows := make([]PriceRow, min(n, readRows))
	for n > 0 {
		got := 0
		err := guarded(func() (err error) {
			got, err = r.Read(rows[:min(n, int64(len(rows)))])
			return err
		})
		for i := range rows[:got] {
			if !use(&rows[i]) {
				return false, ctx.Err()
			}
		}
		n -= int64(got)
		if err != nil && !errors.Is(err, io.EOF) || ctx.Err() != nil {
			return false, errors.Join(err, ctx.Err())
		}
		if errors.Is(err, io.EOF) {
			break
		}
		clear(rows)
	}
	return true, nil
}
