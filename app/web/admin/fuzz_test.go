package admin

import (
	"encoding/csv"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/problem"
)

// FuzzQuery checks that the parameters of an admin page are either refused, or are plain text that a
// link of the page keeps unchanged.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"", "q=rain&cursor=x", "q=%00", "q=%ff", "note=a%0D%0Ab", "q=" + strings.Repeat("x", 1300), "q=a&q=b", "&&=;"} {
		f.Add(seed)
	}
	app := fiber.New()
	f.Fuzz(func(t *testing.T, sent string) {
		c := app.AcquireCtx(&fasthttp.RequestCtx{})
		defer app.ReleaseCtx(c)
		c.Request().SetRequestURI("/admin/agents?" + sent)
		q, err := readQuery(c, "q", "note", "cursor")
		if err != nil {
			if p := problem.As(err); p.Status != 400 {
				t.Errorf("%q: %v", sent, err)
			}
			return
		}
		if plaintext.Check(q.get("q"), false) != "" {
			t.Errorf("%q gives q=%q", sent, q.get("q"))
		}
		if link, err := url.Parse(q.with("status", "x")); err != nil || link.Query().Get("q") != q.get("q") || link.Query().Has("cursor") {
			t.Errorf("%q gives the link %v, %v", sent, link, err)
		}
	})
}

// FuzzCSV checks that an exported row is read back unchanged, except for the apostrophe before a cell
// that a spreadsheet would run as a formula.
func FuzzCSV(f *testing.F) {
	for _, seed := range [][2]string{{"=1+1", "a"}, {"@x", `"`}, {"a\nb", ","}, {"", "\t"}, {"\r", "'"}, {"-1.25", "-1e-05"}, {"-1+1", "+1"}, {"-1\n", "--1"}} {
		f.Add(seed[0], seed[1])
	}
	app := fiber.New()
	number := regexp.MustCompile(`^-\d+(\.\d+)?(e[+-]\d+)?$`)
	f.Fuzz(func(t *testing.T, a, b string) {
		c := app.AcquireCtx(&fasthttp.RequestCtx{})
		defer app.ReleaseCtx(c)
		if err := sendCSV(c, "x.csv", [][]string{{a, b, "end"}}); err != nil {
			t.Fatal(err)
		}
		row, err := csv.NewReader(strings.NewReader(string(c.Response().Body()))).Read()
		if err != nil || len(row) != 3 {
			t.Fatalf("%q %q become %q: %v", a, b, row, err)
		}
		for i, cell := range []string{a, b} {
			if row[i] != "" && strings.ContainsRune("=+-@\t\r\n", rune(row[i][0])) && !number.MatchString(row[i]) {
				t.Errorf("%q is a formula: %q", cell, row[i])
			}
			if want := strings.ReplaceAll(cell, "\r\n", "\n"); strings.TrimPrefix(strings.ReplaceAll(row[i], "\r\n", "\n"), "'") != strings.TrimPrefix(want, "'") {
				t.Errorf("%q becomes %q", cell, row[i])
			}
		}
	})
}
