package remote

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/pulsecast/pulsecast/app/plaintext"
)

// unknown stands for a value that the service doesn't know.
const unknown = "–"

// column is a column of a table. Wide columns share the width that the other columns leave, and are cut to it.
type column struct {
	name    string
	numbers bool
	wide    bool
}

// printTable prints rows. For a terminal they are aligned and cut to its width. For other programs they are
// lines with tabs.
func (t *Terminal) printTable(columns []column, rows [][]string) error {
	head := make([]string, len(columns))
	for i, c := range columns {
		head[i] = strings.ToUpper(c.name)
	}
	cells := [][]string{head}
	for _, row := range rows {
		safe := make([]string, len(row))
		for i, cell := range row {
			safe[i] = plaintext.PrintableLine(cell)
		}
		cells = append(cells, safe)
	}
	if t.Width == 0 {
		return t.printLines(cells)
	}
	_, err := fmt.Fprintln(t.Out, render(columns, cells, t.Width))
	return err
}

// printLines prints cells with tabs between them. PrintableLine has removed all tabs from the cells.
func (t *Terminal) printLines(cells [][]string) error {
	for _, row := range cells {
		if _, err := fmt.Fprintln(t.Out, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return nil
}

func render(columns []column, cells [][]string, width int) string {
	w := table.NewWriter()
	for i, cells := range cells {
		row := make(table.Row, len(cells))
		for j, cell := range cells {
			row[j] = cell
		}
		if i == 0 {
			w.AppendHeader(row)
		} else {
			w.AppendRow(row)
		}
	}
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	w.SetStyle(style)
	w.SetColumnConfigs(columnConfigs(columns, cells, width))
	return w.Render()
}

// columnConfigs divides the remaining width among the wide columns.
func columnConfigs(columns []column, cells [][]string, width int) []table.ColumnConfig {
	const padding, least = 2, 12
	left, wide := width-1, 0
	for i, c := range columns {
		left -= padding
		if c.wide {
			wide++
			continue
		}
		longest := 0
		for _, row := range cells {
			longest = max(longest, text.StringWidth(row[i]))
		}
		left -= longest
	}
	configs := make([]table.ColumnConfig, len(columns))
	for i, c := range columns {
		configs[i] = table.ColumnConfig{Number: i + 1}
		if c.numbers {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
		if c.wide {
			configs[i].WidthMax = max(left/wide, least)
			configs[i].WidthMaxEnforcer = func(s string, most int) string { return text.Snip(s, most, "…") }
		}
	}
	return configs
}

// percent formats a probability in per cent.
func percent(p *float64) string {
	if p == nil {
		return unknown
	}
	return strconv.FormatFloat(*p*100, 'f', 1, 64) + " %"
}

// change formats a difference of probabilities in percentage points, with its sign.
func change(p *float64) string {
	if p == nil {
		return unknown
	}
	return fmt.Sprintf("%+.1f", *p*100)
}

// amount formats a large number with a unit.
func amount(v *float64) string {
	if v == nil {
		return unknown
	}
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "B"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(*v) >= unit.size {
			return strconv.FormatFloat(*v/unit.size, 'f', 1, 64) + unit.name
		}
	}
	return strconv.FormatFloat(*v, 'f', 0, 64)
}

func points(v *float64) string {
	if v == nil {
		return unknown
	}
	return fmt.Sprintf("%+.2f", *v)
}

func whole(v *int) string {
	if v == nil {
		return unknown
	}
	return strconv.Itoa(*v)
}

func moment(at *time.Time) string {
	if at == nil {
		return unknown
	}
	return at.UTC().Format("2006-01-02 15:04Z")
}

func orUnknown(s *string) string {
	if s == nil {
		return unknown
	}
	return cmp.Or(*s, unknown)
}
