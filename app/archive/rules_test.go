package archive_test

import (
	"math"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
)

// TestRules checks that the rules of a day from elsewhere are refused if no installation can have them.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		interval, liquidity float64
		want                time.Duration // 0 if they are refused
	}{
		{60, 1000, time.Minute}, {1.5, 0, 1500 * time.Millisecond}, {86400, 0, 24 * time.Hour},
		{0, 0, 0}, {-60, 0, 0}, {86401, 0, 0}, {math.NaN(), 0, 0}, {60, -1, 0}, {60, math.NaN(), 0}, {60, math.Inf(1), 0},
	} {
		folder := archive.OpenFolder(t.TempDir())
		w := archive.NewDayWriter(folder, "2026-11-21", "")
		row := archive.RuleRow{MarketsInterval: c.interval, MinLiquidity: c.liquidity}
		if err := archive.WriteTable(t.Context(), w, archive.Rules, "", func(yield func(archive.RuleRow, error) bool) { yield(row, nil) }); err != nil {
			t.Fatal(err)
		}
		if err := w.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		d, err := archive.OpenDay(t.Context(), folder, "2026-11-21")
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Rules(t.Context())
		switch {
		case c.want == 0 && err == nil:
			t.Errorf("%+v: got %+v, want an error", c, got)
		case c.want != 0 && (err != nil || got.Interval() != c.want || got.MinLiquidity != c.liquidity):
			t.Errorf("%+v: got %+v, %v", c, got, err)
		}
	}
}
