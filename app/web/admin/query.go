package admin

import (
	"encoding/csv"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/views/components"
)

// pageSize is how many rows a list shows. exportSize is the most rows in a CSV.
const (
	pageSize   = 50
	exportSize = 100_000
)

// query is the address of a page with the filters that the page supports.
type query struct {
	path   string
	values url.Values
}

// readQuery reads the named parameters.
func readQuery(c *fiber.Ctx, names ...string) (query, error) {
	q := query{path: strings.Clone(c.Path()), values: url.Values{}}
	for _, name := range names {
		value := strings.TrimSpace(strings.ReplaceAll(strings.Clone(c.Query(name)), "\r\n", "\n"))
		if value == "" {
			continue
		}
		if utf8.RuneCountInString(value) > 1200 {
			return q, problem.InvalidParameter(name, "may be at most 1200 characters")
		}
		if wrong := plaintext.Check(value, name == "note"); wrong != "" {
			return q, problem.InvalidParameter(name, wrong)
		}
		q.values.Set(name, value)
	}
	return q, nil
}

func (q query) get(name string) string { return q.values.Get(name) }

// with returns the address with one parameter changed. "" removes the parameter. Any change except
// to the cursor leads to the first page.
func (q query) with(name, value string) string {
	values := url.Values{}
	for k, v := range q.values {
		if k != "cursor" {
			values[k] = v
		}
	}
	if value == "" {
		values.Del(name)
	} else {
		values.Set(name, value)
	}
	if len(values) == 0 {
		return q.path
	}
	return q.path + "?" + values.Encode()
}

func (q query) pages(next string) components.Pages {
	var p components.Pages
	if q.get("cursor") != "" {
		p.First = q.with("cursor", "")
	}
	if next != "" {
		p.Next = q.with("cursor", next)
	}
	return p
}

func (q query) keep(but ...string) []components.Field {
	var list []components.Field
	for name := range q.values {
		if name != "cursor" && !slices.Contains(but, name) {
			list = append(list, components.Field{Name: name, Value: q.get(name)})
		}
	}
	slices.SortFunc(list, func(a, b components.Field) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// export returns the lines of a CSV: a head and the rows of all pages, at most exportSize. If there
// are more rows, its last line says so.
func export(head []string, page func(cursor string) (rows [][]string, next string, err error)) ([][]string, error) {
	out := [][]string{head}
	for cursor := ""; ; {
		rows, next, err := page(cursor)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
		if len(out) > 1+exportSize || len(out) == 1+exportSize && next != "" {
			cut := make([]string, len(head))
			cut[0] = "Only the first " + components.Count(exportSize) + " rows are listed. Narrow the filter to export the others."
			return append(out[:1+exportSize], cut), nil
		}
		if next == "" {
			return out, nil
		}
		cursor = next
	}
}

// negative matches a plain negative number. CSVCell would make it a text, with which a spreadsheet
// can't calculate.
var negative = regexp.MustCompile(`^-[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?$`)

// sendCSV sends rows as a CSV file.
func sendCSV(c *fiber.Ctx, name string, rows [][]string) error {
	var b strings.Builder
	w := csv.NewWriter(&b)
	for _, row := range rows {
		for i := range row {
			if !negative.MatchString(row[i]) {
				row[i] = plaintext.CSVCell(row[i])
			}
		}
		if err := w.Write(row); err != nil {
			return fmt.Errorf("write csv: %w", err)
		}
	}
	w.Flush()
	c.Set(fiber.HeaderContentType, "text/csv; charset=utf-8")
	c.Set(fiber.HeaderContentDisposition, `attachment; filename="`+name+`"`)
	return c.SendString(b.String())
}
