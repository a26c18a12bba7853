package app_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/demo"
)

var updatePages = flag.Bool("update", false, "write the golden files of the pages again")

// goldenAt is the time at which the pages are shown. The demo's dates count from it.
var goldenAt = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// goldenBlocks are the main blocks of the pages. The block with a name is in
// testdata/pages/NAME.html.
var goldenBlocks = []struct{ name, path, block string }{
	{"header", "/", "body > header"},
	{"home", "/", "main"},
	{"leaderboard", "/leaderboard", "main"},
	{"agent", "/agents/harbor-pilot", "main > header"},
	{"agent-record", "/agents/harbor-pilot", "section[aria-labelledby=record]"},
	{"agent-predictions", "/agents/harbor-pilot", "section[aria-labelledby=predictions]"},
	{"unranked", "/agents/slow-lantern", "section[aria-labelledby=record]"},
	{"markets", "/markets", "main"},
	{"market", "/markets/sample-101", "main"},
	{"news", "/news", "main"},
	{"predictions", "/predictions", "main"},
	{"prediction", settled, "main"},
	{"models", "/models", "main"},
	{"compare", "/compare?a=harbor-pilot&b=slow-lantern", "main"},
	{"assignment", "/assignments", "main article"},
	{"search", "/search?q=rate", "main"},
	{"changes", "/changes", "main"},
	{"register", "/agents/new", "main"},
	{"data", "/data", "main"},
	{"docs", "/docs", "main"},
	{"missing", "/markets/none", "main"},
	{"footer", "/", "body > footer"},
}

// settled is the path of a list of predictions. The golden file shows the page of the first one.
const settled = "/predictions?agent=harbor-pilot&status=resolved&sort=edge"

// TestGoldenPages checks that the main blocks of the pages equal those in testdata/pages. With
// -update it writes them.
func TestGoldenPages(t *testing.T) {
	t.Parallel()
	base := goldenSite(t)
	pages := map[string]*goquery.Document{}
	for _, g := range goldenBlocks {
		if pages[g.path] == nil {
			pages[g.path] = fetchDocument(t, base+g.path)
			if g.path == settled {
				link, _ := pages[g.path].Find("main a[href^='/predictions/']").Attr("href")
				pages[g.path] = fetchDocument(t, base+link)
			}
		}
		block := pages[g.path].Find(g.block).First()
		if block.Length() == 0 {
			t.Errorf("%s has no %q", g.path, g.block)
			continue
		}
		compareGolden(t, g.name, legible(block.Nodes[0]))
	}
}

// goldenSite serves the demo at goldenAt, without a worker, and returns its address.
func goldenSite(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Addr, cfg.BaseURL, cfg.LogFormat, cfg.Registration, cfg.Drain = ln.Addr().String(), "https://pulsecast.example", "off", "open", 0
	cfg.DatabaseURL = dbtest.URL(t, database.SQLite)
	now := func() time.Time { return goldenAt }
	a, err := app.New(t.Context(), cfg, app.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	if err := demo.Seed(t.Context(), a.DB, goldenAt); err != nil {
		t.Fatal(err)
	}
	a.MarkSample()
	a.Markets.Source = demo.NewMarketSource(a.Markets.Source, a.DB, now, a.Log)
	a.News.Source = demo.NewNewsSource(a.News.Source, a.DB, now, a.Log)
	for _, tick := range []func(context.Context) (time.Duration, error){a.Markets.Tick, a.News.Tick} {
		if _, err := tick(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return "http://" + ln.Addr().String()
}

func fetchDocument(t *testing.T, address string) *goquery.Document {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	document, err := goquery.NewDocumentFromReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// goldenItems is how many items of a list, rows of a table or points of a chart a golden file shows.
const goldenItems = 2

// legible writes an element with one tag or text on each line. It cuts long lists and drawings, and
// replaces ids, versions and cursors, which differ in each run.
func legible(n *html.Node) string {
	var out strings.Builder
	writeLegible(&out, n, 0)
	return varies.ReplaceAllString(uuid.ReplaceAllString(out.String(), "ID"), "$1=…")
}

var (
	uuid   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	varies = regexp.MustCompile(`(\?v|cursor)=[\w-]+`)
)

func writeLegible(out *strings.Builder, n *html.Node, depth int) {
	indent := strings.Repeat("  ", depth)
	switch n.Type {
	case html.TextNode:
		if text := strings.Join(strings.Fields(n.Data), " "); text != "" {
			fmt.Fprintf(out, "%s%s\n", indent, html.EscapeString(text))
		}
		return
	case html.ElementNode:
	default:
		return
	}
	out.WriteString(indent + "<" + n.Data)
	for _, a := range n.Attr {
		fmt.Fprintf(out, " %s=%q", a.Key, a.Val)
	}
	out.WriteString(">\n")
	if n.Data == "svg" {
		return
	}
	same := map[string]int{}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && listed[c.Data] {
			if same[c.Data]++; same[c.Data] > goldenItems {
				continue
			}
		}
		writeLegible(out, c, depth+1)
	}
}

// listed are the elements that often appear many times in one parent.
var listed = map[string]bool{"li": true, "tr": true, "article": true, "option": true}

func compareGolden(t *testing.T, name, fresh string) {
	t.Helper()
	file := filepath.Join("testdata", "pages", name+".html")
	if *updatePages {
		if err := os.WriteFile(file, []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	known, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("%v; run: go test ./app -run TestGoldenPages -update", err)
		return
	}
	if diff := cmp.Diff(string(known), fresh); diff != "" {
		t.Errorf("%s differs; if that is right, run: go test ./app -run TestGoldenPages -update\n%s", name, diff)
	}
}
