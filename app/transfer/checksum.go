package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"github.com/pulsecast/pulsecast/app/database"
)

// checksum is the sum of the SHA-256 of each row, modulo 2^256. It doesn't depend on the order of
// the rows, which the two engines sort differently.
type checksum struct {
	sum  [4]uint64
	rows int64
}

func (c *checksum) add(row []byte) {
	hash := sha256.Sum256(row)
	carry := uint64(0)
	for i := 3; i >= 0; i-- {
		c.sum[i], carry = bits.Add64(c.sum[i], binary.BigEndian.Uint64(hash[8*i:]), carry)
	}
	c.rows++
}

func (c *checksum) String() string {
	var out []byte
	for _, part := range c.sum {
		out = binary.BigEndian.AppendUint64(out, part)
	}
	return hex.EncodeToString(out)
}

// tellEvery is the number of rows between two reports of progress.
const tellEvery = 1000

// sumOf computes the checksum of a whole table.
func sumOf(ctx context.Context, s side, t *table, tell func(rows int64)) (c checksum, err error) {
	var encoded []byte
	waiting := int64(0)
	err = s.each(ctx, t, func(values []any) error {
		encoded = encoded[:0]
		for i, v := range values {
			if encoded, err = appendValue(encoded, t.kinds[i], v); err != nil {
				return fmt.Errorf("column %s: %w", t.columns[i], err)
			}
		}
		c.add(encoded)
		if waiting++; waiting == tellEvery {
			tell(waiting)
			waiting = 0
		}
		return nil
	})
	tell(waiting)
	return c, err
}

// compare compares every table. It reads both sides at the same time.
func (c *copier) compare(ctx context.Context, r *Result) error {
	for i := range c.tables {
		t := &c.tables[i]
		sum, err := c.compareTable(ctx, t)
		if err != nil {
			return fmt.Errorf("compare %s: %w", t.name, err)
		}
		r.Tables = append(r.Tables, sum)
		r.Rows += sum.Rows
	}
	return nil
}

func (c *copier) compareTable(ctx context.Context, t *table) (Sum, error) {
	if derived[t.name] != "" {
		return c.compareCounts(ctx, t)
	}
	var theirs, ours checksum
	var failed [2]error
	var both sync.WaitGroup
	both.Go(func() { theirs, failed[0] = sumOf(ctx, c.source, t, c.tell) })
	both.Go(func() { ours, failed[1] = sumOf(ctx, c.target, t, func(int64) {}) })
	both.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		return Sum{}, err
	}
	if theirs != ours {
		return Sum{}, fmt.Errorf("the two sides differ: %d rows with the checksum %s in the source, %d with %s in the target; "+
			"the source may have changed during the copy. Empty the target and copy again", theirs.rows, &theirs, ours.rows, &ours)
	}
	return Sum{Table: t.name, Rows: ours.rows, Checksum: ours.String()}, nil
}

func (c *copier) compareCounts(ctx context.Context, t *table) (Sum, error) {
	theirs, err := database.CountRows(ctx, c.from.Reader, t.name)
	if err != nil {
		return Sum{}, err
	}
	ours, err := database.CountRows(ctx, c.to, t.name)
	if err != nil {
		return Sum{}, err
	}
	if theirs != ours {
		return Sum{}, fmt.Errorf("%d rows in the source, %d in the target", theirs, ours)
	}
	c.tell(2 * ours)
	return Sum{Table: t.name, Rows: ours}, nil
}
