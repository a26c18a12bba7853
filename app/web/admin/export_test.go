package admin

import (
	"errors"
	"strconv"
	"testing"
)

// TestExportSaysWhereItEnds checks that the last line of a CSV says so if it lacks rows.
func TestExportSaysWhereItEnds(t *testing.T) {
	t.Parallel()
	// pages returns n rows in pages of 700.
	pages := func(n int) func(cursor string) ([][]string, string, error) {
		return func(cursor string) (rows [][]string, next string, err error) {
			from, _ := strconv.Atoi(cursor)
			for i := from; i < min(from+700, n); i++ {
				rows = append(rows, []string{strconv.Itoa(i), "x"})
			}
			if from+700 < n {
				next = strconv.Itoa(from + 700)
			}
			return rows, next, nil
		}
	}
	const cut = "Only the first 100,000 rows are listed. Narrow the filter to export the others."
	for n, want := range map[int]struct {
		rows int
		last string
	}{
		0:              {0, "a"},
		1:              {1, "0"},
		exportSize - 1: {exportSize - 1, strconv.Itoa(exportSize - 2)},
		exportSize:     {exportSize, strconv.Itoa(exportSize - 1)},
		exportSize + 1: {exportSize + 1, cut},
		2 * exportSize: {exportSize + 1, cut},
	} {
		out, err := export([]string{"a", "b"}, pages(n))
		if err != nil || len(out) != 1+want.rows || out[len(out)-1][0] != want.last || len(out[len(out)-1]) != 2 {
			t.Errorf("%d rows: got %d lines, the last %q, %v; want %d lines, the last with %q", n, len(out), out[len(out)-1], err, 1+want.rows, want.last)
		}
	}
	failing := func(string) ([][]string, string, error) { return nil, "", errors.New("no database") }
	if _, err := export([]string{"a"}, failing); err == nil {
		t.Error("an export without a database succeeded")
	}
}
