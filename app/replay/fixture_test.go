package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/news"
)

// The recorded days are 1 to 6 November 2031, a year that nothing else mentions. Each reading
// contains its own time, so that a leak is found: the volume of a market is the time in Unix
// seconds, the score of an item is the time in Unix minutes, and its title contains the time as
// text.
var (
	firstDay = time.Date(2031, 11, 1, 0, 0, 0, 0, time.UTC)
	lastEnd  = firstDay.AddDate(0, 0, recordedDays)
)

const (
	recordedDays    = 6
	recordedMarkets = 12
	readEvery       = 5 * time.Minute
	newsEvery       = time.Hour
)

var categories = []string{"politics", "economics", "sports"}

// closing returns when market i closes. Markets close one after another from the third day on, and
// the last three stay open. The schedule first says a day later.
func closing(i int) time.Time {
	return firstDay.Add(50*time.Hour + time.Duration(i)*7*time.Hour)
}

func staysOpen(i int) bool { return i >= recordedMarkets-3 }

// rescheduled is when each market's schedule is corrected to its closing.
var rescheduled = firstDay.Add(36 * time.Hour)

func marketID(i int) string { return fmt.Sprintf("m%d", 100+i) }

// yes returns the price of market i. It varies without any relation to the outcome.
func yes(i int, at time.Time) float64 {
	step := int(at.Sub(firstDay) / readEvery)
	return float64(200+(i*37+step*(3+i%5))%600) / 1000
}

func observed(at time.Time, source string) archive.Observed {
	return archive.Observed{ObservedAt: at, Source: source, Received: []byte{1}}
}

func factsRow(i int, at time.Time) archive.MarketRow {
	closes := closing(i).AddDate(0, 0, 1)
	if !at.Before(rescheduled) {
		closes = closing(i)
	}
	if staysOpen(i) {
		closes = lastEnd.AddDate(0, 0, 20)
	}
	return archive.MarketRow{
		Market: marketID(i), Observed: observed(at, "polymarket"), Question: fmt.Sprintf("Will %d happen?", i), Title: fmt.Sprintf("Will %d happen?", i),
		Slug: fmt.Sprintf("will-%d", i), Category: categories[i%len(categories)], Tags: []string{categories[i%len(categories)]}, Outcomes: []string{"Yes", "No"},
		ClosesAt: &closes, Active: true, URL: fmt.Sprintf("https://example.org/m/%d", i), Description: "It is said at " + at.Format(time.RFC3339),
		Event: fmt.Sprintf("e%d", i/2), EventTitle: fmt.Sprintf("Event %d", i/2),
	}
}

func priceRow(i int, at time.Time) archive.PriceRow {
	p := yes(i, at)
	return archive.PriceRow{
		Market: marketID(i), Observed: observed(at, "polymarket"), Prices: []float64{p, 1 - p}, Price: &p, BestBid: new(p - 0.005), BestAsk: new(p + 0.005),
		Liquidity: new(5000.0), Volume: new(float64(at.Unix())), Volume24h: new(float64(at.Unix())), PriceChange24h: new(0.01),
	}
}

// happens returns the outcome of market i.
func happens(i int) []float64 {
	if i%3 == 0 {
		return []float64{1, 0}
	}
	return []float64{0, 1}
}

var (
	recordOnce sync.Once
	archiveDir string // the folder of recordedArchive, empty until a test uses it
)

func TestMain(m *testing.M) {
	code := m.Run()
	if archiveDir != "" {
		os.RemoveAll(archiveDir)
	}
	os.Exit(code)
}

// recordedArchive returns the folder with the recorded days. All tests read the same one.
func recordedArchive(t testing.TB) *archive.Folder {
	t.Helper()
	recordOnce.Do(func() {
		dir, err := os.MkdirTemp("", "pulsecast-archive")
		if err != nil {
			t.Fatal(err)
		}
		folder, previous := archive.OpenFolder(dir), ""
		for d := range recordedDays {
			previous = recordDay(t, folder, firstDay.AddDate(0, 0, d), previous)
		}
		archiveDir = dir
	})
	if archiveDir == "" {
		t.Fatal("the days could not be recorded")
	}
	return archive.OpenFolder(archiveDir)
}

// recordDay records a day and returns its hash. more writes tables that the other tests don't need.
func recordDay(t testing.TB, folder *archive.Folder, from time.Time, previous string, more ...func(*archive.DayWriter) error) string {
	t.Helper()
	ctx, to := context.Background(), from.AddDate(0, 0, 1)
	w := archive.NewDayWriter(folder, from.Format(time.DateOnly), previous)
	var facts []archive.MarketRow
	var prices []archive.PriceRow
	var closings []archive.ClosingRow
	for i := range recordedMarkets {
		for at := from; at.Before(to); at = at.Add(readEvery) {
			if end := closing(i); !staysOpen(i) && !at.Before(end) {
				if at.Sub(end) < readEvery {
					closings = append(closings, archive.ClosingRow{Market: marketID(i), Observed: observed(at, "polymarket"), ClosedAt: &end, Outcomes: []string{"Yes", "No"}, Prices: happens(i), Resolution: "resolved", Volume: new(float64(at.Unix()))})
				}
				continue
			}
			if at.Equal(from) || at.Equal(rescheduled) {
				facts = append(facts, factsRow(i, at))
			}
			prices = append(prices, priceRow(i, at))
		}
	}
	var events []archive.EventRow
	for e := range recordedMarkets / 2 {
		events = append(events, archive.EventRow{Event: fmt.Sprintf("e%d", e), Observed: observed(from, "polymarket"), Title: fmt.Sprintf("Event %d", e), Volume: new(float64(from.Unix())), Exclusive: new(false), Tags: []string{"x"}})
	}
	items, texts := newsOf(from, to)
	for _, err := range []error{
		archive.WriteTable(ctx, w, archive.Markets, "polymarket", seq(facts)),
		archive.WriteTable(ctx, w, archive.Events, "polymarket", seq(events)),
		archive.WriteTable(ctx, w, archive.Prices, "polymarket", seq(prices)),
		archive.WriteTable(ctx, w, archive.News, "hackernews", seq(items)),
		archive.WriteTable(ctx, w, archive.Closings, "polymarket", seq(closings)),
		w.WriteTexts(ctx, archive.News, "hackernews", seq(texts)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, write := range more {
		if err := write(w); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(ctx); err != nil {
		t.Fatal(err)
	}
	d, err := archive.OpenDay(ctx, folder, from.Format(time.DateOnly))
	if err != nil {
		t.Fatal(err)
	}
	return d.Hash
}

// newsOf posts an item every three hours, and reads it each hour for a day.
func newsOf(from, to time.Time) (items []archive.NewsRow, texts []archive.TextRow) {
	for at := from; at.Before(to); at = at.Add(newsEvery) {
		for posted := at.Truncate(3 * time.Hour); at.Sub(posted) < 24*time.Hour && !posted.Before(firstDay); posted = posted.Add(-3 * time.Hour) {
			id := fmt.Sprintf("hn-%d", posted.Unix()/3600)
			content, _ := json.Marshal(archive.NewsTexts{Title: "News of " + at.Format(time.RFC3339), URL: "https://example.org/n/" + id, Permalink: "https://example.org/c/" + id, Author: "someone"})
			salt := []byte(at.Format(time.RFC3339) + id)
			texts = append(texts, archive.TextRow{Record: id, Salt: salt, Content: content})
			items = append(items, archive.NewsRow{
				Item: id, Observed: observed(at, "hackernews"), Community: news.Communities[int(posted.Unix()/10800)%len(news.Communities)], Score: at.Unix() / 60,
				Comments: at.Unix() / 60, ScoreKnown: true, PostedAt: posted, Texts: archive.TextHash(salt, content),
			})
		}
	}
	return items, texts
}

func seq[T any](rows []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// talk keeps connections open and asks for no compression.
var talk = &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 32}}

// client sends requests to a running replay.
type client struct {
	t    testing.TB
	base string
}

// serve runs a replay of an archive on a free port, with its runs in dir. change changes its settings.
func serve(t testing.TB, s archive.Storage, dir string, change ...func(*config.Config)) (c *client, stop func()) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	settings := config.Default()
	settings.Addr, settings.LogFormat, settings.Drain = ln.Addr().String(), "off", 0
	for _, f := range change {
		f(&settings)
	}
	server, err := New(t.Context(), Options{Settings: settings, Archive: s, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx, ln) }()
	var stopped bool
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(stop)
	return &client{t, server.Base()}, stop
}

// call sends a request and returns the status and the body.
func (c *client) call(method, path, key, body string, headers ...string) (int, string) {
	c.t.Helper()
	if !strings.HasPrefix(path, "http") {
		path = c.base + path
	}
	r, err := http.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := talk.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer.StatusCode, string(content)
}

// read decodes the answer to a request that must succeed.
func read[T any](c *client, method, path, key, body string, headers ...string) (into T) {
	c.t.Helper()
	status, text := c.call(method, path, key, body, headers...)
	if status != http.StatusOK {
		c.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	if err := json.Unmarshal([]byte(text), &into); err != nil {
		c.t.Fatalf("%s %s: %v in %s", method, path, err, text)
	}
	return into
}

// makeRun makes a run with the given JSON fields.
func (c *client) makeRun(fields string) madeRun {
	c.t.Helper()
	return read[madeRun](c, "POST", "/r", "", fields)
}

// forgetWorlds deletes the worlds of a run, and with them what it published.
func forgetWorlds(t *testing.T, dir, run string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, "runs", run, "worlds")); err != nil {
		t.Fatal(err)
	}
}
