package replay

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/contract"
)

const (
	leakReads   = 10_000
	leakMoments = 20 // each has its own world
	leakAtOnce  = 4
)

// TestNothingAfterT reads every operation of the interface at random moments with random
// parameters. Each reading in the recorded days contains its own time, and no answer may contain a
// time after T. The agent has published at other moments, and its markets are decided. No answer
// may show that either.
func TestNothingAfterT(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, recordedArchive(t), t.TempDir())
	run := c.makeRun(`{"name":"Alpha"}`)
	ids := map[string]time.Time{}
	for _, f := range drafts()[:9] {
		ids[c.publish(run, f).Prediction.ID] = f.at
	}
	if r := c.report(run); r.Predictions.Resolved == 0 {
		t.Fatal("no market is decided, so nothing can leak")
	}
	dice := rand.New(rand.NewPCG(1, 2))
	var moments []time.Time
	for _, at := range ids {
		moments = append(moments, at)
	}
	slices.SortFunc(moments, time.Time.Compare)
	for len(moments) < leakMoments {
		moments = append(moments, firstDay.Add(time.Duration(dice.Int64N(int64(lastEnd.Sub(firstDay))))).Truncate(time.Microsecond))
	}
	operations := readOperations(t)
	var reads, answered atomic.Int64
	var all sync.WaitGroup
	places := make(chan struct{}, leakAtOnce)
	for i, at := range moments {
		own := rand.New(rand.NewPCG(uint64(i), 3))
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			seen := map[string]bool{}
			for range (leakReads + leakMoments - 1) / leakMoments {
				path := pickOperation(own, operations).random(own, ids)
				key := ""
				if own.IntN(3) > 0 {
					key = *run.AgentKey
				}
				status, text := c.call("GET", prefix(run.Run, writeMoment(at))+path, key, "")
				reads.Add(1)
				if status == 200 {
					answered.Add(1)
				}
				if status >= 500 {
					t.Errorf("%s at %s: got status %d, %s", path, writeMoment(at), status, text)
				}
				if seen[text] {
					continue
				}
				seen[text] = true
				for _, leak := range leaks(text, at, ids) {
					t.Errorf("%s at %s leaks %s:\n%.2000s", path, writeMoment(at), leak, text)
				}
			}
		})
	}
	all.Wait()
	if reads.Load() < leakReads || answered.Load() < leakReads/3 {
		t.Errorf("only %d reads, %d of them answered", reads.Load(), answered.Load())
	}
}

// readOperation is a GET operation of the interface.
type readOperation struct {
	path       string
	parameters []struct {
		Name, In string
		Schema   struct{ Enum []string }
	}
}

// readOperations returns all GET operations, and the pages. It leaves out the stream, which a
// replay doesn't have.
func readOperations(t *testing.T) (list []readOperation) {
	t.Helper()
	doc, err := contract.Document()
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Ref    string `json:"$ref"`
				Name   string
				In     string
				Schema struct{ Enum []any }
			}
		}
		Components struct {
			Parameters map[string]struct {
				Name   string
				In     string
				Schema struct{ Enum []any }
			}
		}
	}
	if err := json.Unmarshal(content, &read); err != nil {
		t.Fatal(err)
	}
	for path, methods := range read.Paths {
		get, ok := methods["get"]
		if !ok || path == "/api/events" {
			continue
		}
		o := readOperation{path: path}
		for _, p := range get.Parameters {
			one := struct {
				Name, In string
				Schema   struct{ Enum []string }
			}{Name: p.Name, In: p.In}
			enum := p.Schema.Enum
			if p.Ref != "" {
				shared := read.Components.Parameters[p.Ref[strings.LastIndex(p.Ref, "/")+1:]]
				one.Name, one.In, enum = shared.Name, shared.In, shared.Schema.Enum
			}
			for _, v := range enum {
				one.Schema.Enum = append(one.Schema.Enum, fmt.Sprint(v))
			}
			o.parameters = append(o.parameters, one)
		}
		list = append(list, o)
	}
	for _, page := range []string{"/", "/markets", "/markets/{id}", "/news", "/predictions", "/predictions/{id}", "/leaderboard", "/agents/{handle}", "/search", "/events/{id}", "/changes", "/models"} {
		list = append(list, readOperation{path: page})
	}
	slices.SortFunc(list, func(a, b readOperation) int { return strings.Compare(a.path, b.path) })
	return list
}

// pickOperation picks an operation at random. It picks pages less often, because they take longest.
func pickOperation(dice *rand.Rand, list []readOperation) *readOperation {
	for {
		o := &list[dice.IntN(len(list))]
		if strings.HasPrefix(o.path, "/api/") || dice.IntN(4) == 0 {
			return o
		}
	}
}

// random returns the operation's path with random parameters, most of which are valid.
func (o *readOperation) random(dice *rand.Rand, ids map[string]time.Time) string {
	var published []string
	for id := range ids {
		published = append(published, id)
	}
	slices.Sort(published)
	pick := func(words ...string) string { return words[dice.IntN(len(words))] }
	path, query := o.path, url.Values{}
	path = strings.ReplaceAll(path, "{handle}", pick("alpha", "market", "fifty", "consensus"))
	switch {
	case strings.Contains(path, "/markets/{id}"):
		path = strings.ReplaceAll(path, "{id}", marketID(dice.IntN(recordedMarkets)))
	case strings.Contains(path, "/events/{id}"):
		path = strings.ReplaceAll(path, "{id}", fmt.Sprintf("e%d", dice.IntN(recordedMarkets/2)))
	default:
		path = strings.ReplaceAll(path, "{id}", pick(published...))
	}
	path = strings.ReplaceAll(path, "{day}", pick("2031-11-01", "2031-11-06"))
	path = strings.ReplaceAll(path, "{file}", pick("manifest.json", "closings-polymarket.parquet", "prices-polymarket.parquet"))
	for _, p := range o.parameters {
		if p.In != "query" || (dice.IntN(3) > 0 && p.Name != "a" && p.Name != "b") {
			continue
		}
		switch {
		case len(p.Schema.Enum) > 0:
			query.Set(p.Name, pick(p.Schema.Enum...))
		case p.Name == "limit":
			query.Set(p.Name, strconv.Itoa(1+dice.IntN(100)))
		case p.Name == "market":
			query.Set(p.Name, marketID(dice.IntN(recordedMarkets)))
		case p.Name == "event":
			query.Set(p.Name, fmt.Sprintf("e%d", dice.IntN(recordedMarkets/2)))
		case p.Name == "q":
			query.Set(p.Name, pick("will", "happen", "news"))
		case p.Name == "agent" || p.Name == "a" || p.Name == "b":
			query.Set(p.Name, pick("alpha", "market", "fifty"))
		case p.Name == "from" || p.Name == "to" || p.Name == "since" || p.Name == "closesBefore":
			query.Set(p.Name, firstDay.Add(time.Duration(dice.IntN(recordedDays*24))*time.Hour).Format(time.RFC3339))
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

var (
	echoed  = regexp.MustCompile(`"(from|to|nextCheckAt)":"[^"]*"`) // parameters repeated in the answer, and the next midnight
	written = regexp.MustCompile(`2031-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	figures = regexp.MustCompile(`\b\d+(\.\d+)?\b`) // not a part of a random id
)

// leaks lists what an answer reveals about the time after T: a moment, the mark of a reading, an
// outcome, or a prediction of another moment. Schedules may lie after T, so the known ones are
// ignored.
func leaks(text string, at time.Time, ids map[string]time.Time) (found []string) {
	text = echoed.ReplaceAllString(text, "")
	schedules := map[string]bool{}
	for i := range recordedMarkets {
		closes := factsRow(i, at).ClosesAt
		schedules[closes.UTC().Format(time.RFC3339)] = true
	}
	// The assignments of a day are due two days after its start.
	schedules[at.Truncate(24*time.Hour).AddDate(0, 0, 2).Format(time.RFC3339)] = true
	for _, moment := range written.FindAllString(text, -1) {
		when, err := time.Parse(time.RFC3339Nano, moment)
		if err == nil && when.After(at) && when.Before(lastEnd) && !schedules[moment] {
			found = append(found, "the moment "+moment)
		}
	}
	for _, figure := range figures.FindAllString(text, -1) {
		n, err := strconv.ParseFloat(figure, 64)
		if err != nil {
			continue
		}
		if n > float64(at.Unix()) && n < float64(lastEnd.Unix()) && n > float64(firstDay.Unix()) {
			found = append(found, "the volume "+figure)
		}
		if n > float64(at.Unix()/60) && n < float64(lastEnd.Unix()/60) {
			found = append(found, "the score "+figure)
		}
	}
	if strings.Contains(text, `"openapi":"3.`) {
		return found // the examples in the contract contain all kinds of values
	}
	for _, word := range []string{`"status":"resolved"`, `"status":"void"`, `"closed":true`, `"resolvedAt":"`} {
		if strings.Contains(text, word) {
			found = append(found, word)
		}
	}
	for id, when := range ids {
		if !when.Equal(at) && strings.Contains(text, id) && strings.Contains(text, `"confidence"`) {
			found = append(found, "the prediction of "+writeMoment(when))
		}
	}
	return found
}
