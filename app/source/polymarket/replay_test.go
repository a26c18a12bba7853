package polymarket_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/source/polymarket"
)

// recorded returns a recorded payload of the real upstream. Recordings aren't part of the repository. Without
// their folder these tests are skipped.
func recorded(t *testing.T, name string) []byte {
	t.Helper()
	dir := os.Getenv("UPSTREAM_SAMPLES")
	if dir == "" {
		t.Skip("set UPSTREAM_SAMPLES to the folder with recorded upstream payloads")
	}
	body, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func replay(t *testing.T, answers map[string][]byte) *polymarket.Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	return client(s.URL)
}

// object reads a recorded market by its keys. It shares no code with the client.
type object map[string]any

func (o object) text(key string) string {
	s, _ := o[key].(string)
	return strings.TrimSpace(s)
}

func (o object) number(keys ...string) *float64 {
	for _, key := range keys {
		if f, ok := o[key].(float64); ok {
			return &f
		}
		if f, err := strconv.ParseFloat(o.text(key), 64); err == nil {
			return &f
		}
	}
	return nil
}

func (o object) list(t *testing.T, key string) []string {
	t.Helper()
	var out []string
	if o.text(key) != "" {
		if err := json.Unmarshal([]byte(o.text(key)), &out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func (o object) time(t *testing.T, key string) time.Time {
	t.Helper()
	if o.text(key) == "" {
		return time.Time{}
	}
	at, err := time.Parse("2006-01-02T15:04:05", o.text(key)[:19])
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func (o object) event() object {
	events, _ := o["events"].([]any)
	if len(events) == 0 {
		return object{}
	}
	return events[0].(map[string]any)
}

// expect returns what an open recorded market must be decoded to.
func expect(t *testing.T, o object) market.Market {
	t.Helper()
	m := market.Market{
		ID: o.text("id"), Source: "polymarket", Question: o.text("question"), Title: o.text("question"), Slug: o.text("slug"),
		Outcomes: o.list(t, "outcomes"), TokenIDs: o.list(t, "clobTokenIds"),
		Price: o.number("lastTradePrice"), Volume: o.number("volumeNum", "volume"), Liquidity: o.number("liquidityNum", "liquidity"),
		ClosesAt: o.time(t, "endDate"), Active: true,
		URL: "https://polymarket.com/event/" + o.event().text("slug"), ImageURL: o.text("image"),
		Description: o.text("description"), ResolutionSource: o.text("resolutionSource"),
		EventID: o.event().text("id"), EventSlug: o.event().text("slug"), EventPosition: o.number("groupItemThreshold"), Label: o.text("groupItemTitle"), ConditionID: o.text("conditionId"),
		ScalarUnknown: o.text("marketType") == "", Resolution: o.text("umaResolutionStatus"), FirstSeenAt: now, ObservedAt: now,
	}
	m.BestBid, m.BestAsk = o.number("bestBid"), o.number("bestAsk")
	if m.BestBid == nil { // every recorded market has an ask
		m.BestBid = new(float64)
	}
	m.Volume24h, m.PriceChange24h = o.number("volume24hr"), o.number("oneDayPriceChange")
	for _, s := range o.list(t, "outcomePrices") {
		p, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		m.Prices = append(m.Prices, p)
	}
	if m.Prices != nil {
		m.Probability = &m.Prices[slices.Index(m.Outcomes, "Yes")]
	}
	return m
}

// checkTitle checks that a title has no blank, and that it is the question or begins with the event.
func checkTitle(t *testing.T, m *market.Market) {
	t.Helper()
	for _, s := range []string{m.Title, m.EventTitle} {
		if s == "" || strings.Contains(s, "__") || strings.Contains(s, "...") {
			t.Errorf("market %s: got title %q", m.ID, s)
		}
	}
	if m.Title != m.Question && !strings.HasPrefix(m.Title, m.EventTitle+" — ") {
		t.Errorf("market %s: got title %q from question %q and event %q", m.ID, m.Title, m.EventTitle, m.Question)
	}
}

func TestReplayOpenMarkets(t *testing.T) {
	t.Parallel()
	for name, count := range map[string]int{"gamma-markets-1.json": 100, "gamma-markets-4-missing-fields.json": 5, "gamma-markets-5-2026-06.json": 5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := recorded(t, name)
			var objects []object
			if err := json.Unmarshal(body, &objects); err != nil {
				t.Fatal(err)
			}
			want := map[string]market.Market{}
			for _, o := range objects {
				want[o.text("id")] = expect(t, o)
			}
			page := append(append([]byte(`{"markets":`), body...), '}')
			hash := sha256.Sum256(page)
			got, err := replay(t, map[string][]byte{"/markets/keyset": page}).Top(t.Context(), 100)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Markets) != count || len(want) != count || len(got.Dropped) != 0 {
				t.Fatalf("got %d markets from %d records, dropped %v", len(got.Markets), len(want), got.Dropped)
			}
			for i, m := range got.Markets {
				o := want[m.ID]
				checkTitle(t, &m)
				o.Title, o.EventTitle, o.Category = m.Title, m.EventTitle, m.Category
				o.Received = hex.EncodeToString(hash[:])
				want[m.ID] = o
				if !reflect.DeepEqual(m, want[m.ID]) {
					t.Errorf("market %s\ngot  %+v\nwant %+v", m.ID, m, want[m.ID])
				}
				if i == 0 {
					continue
				}
				before, after := got.Markets[i-1].Volume, m.Volume
				if before == nil && after != nil || before != nil && after != nil && *before < *after {
					t.Errorf("market %s is out of order", m.ID)
				}
			}
		})
	}
}

func TestReplaySingleMarkets(t *testing.T) {
	t.Parallel()
	cases := []struct {
		file, id, resolution string
		outcomes             []string
		closed               bool
		closedAt             string
		probability, price   float64
		book, winner         string // the recording of the order book, and its winner
	}{
		{
			file: "gamma-market-single-1.json", id: "1460332", resolution: "resolved", outcomes: []string{"Yes", "No"}, closed: true,
			closedAt: "2026-03-19T23:20:15Z", probability: 0, price: 0, book: "clob-market-single-1.json", winner: "No",
		},
		{
			file: "gamma-market-single-2.json", id: "1812085", resolution: "", outcomes: []string{"Yes", "No"}, closed: true,
			closedAt: "2026-05-09T02:07:01Z", probability: 1, price: 1, book: "clob-market-single-2.json", winner: "Yes",
		},
		{
			file: "gamma-market-single-5.json", id: "1878152", resolution: "resolved", outcomes: []string{"FaZe", "illwill"}, closed: true,
			closedAt: "2026-04-05T19:37:33Z", probability: 1, price: 1,
		},
		{
			file: "gamma-market-single-7.json", id: "1557558", resolution: "", outcomes: []string{"Up", "Down"},
			probability: 0.505, price: 0.51,
		},
	}
	for _, c := range cases {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			answers := map[string][]byte{"/markets": append(append([]byte("["), recorded(t, c.file)...), ']')}
			gamma := replay(t, answers)
			got, err := gamma.ByID(t.Context(), []string{c.id})
			if err != nil || len(got.Markets) != 1 {
				t.Fatalf("%+v, %v", got, err)
			}
			m := got.Markets[0]
			var o object
			if err := json.Unmarshal(recorded(t, c.file), &o); err != nil {
				t.Fatal(err)
			}
			page := "https://polymarket.com/market/" + o.text("slug")
			if o.event().text("slug") != "" {
				page = "https://polymarket.com/event/" + o.event().text("slug")
			}
			if m.Closed != c.closed || m.Active == c.closed || m.Resolution != c.resolution || !slices.Equal(m.Outcomes, c.outcomes) ||
				*m.Probability != c.probability || *m.Price != c.price || m.Question != o.text("question") || m.URL != page {
				t.Errorf("got %+v", m)
			}
			if c.closedAt != "" && m.ClosedAt.Format(time.RFC3339) != c.closedAt {
				t.Errorf("got closed at %v", m.ClosedAt)
			}
			if c.book == "" {
				return
			}
			clob := replay(t, map[string][]byte{"/markets/" + m.ConditionID: recorded(t, c.book)})
			i, ok, err := clob.Winner(t.Context(), &m)
			if err != nil || !ok || m.Outcomes[i] != c.winner {
				t.Errorf("got winner %d, %v, %v; want %s", i, ok, err, c.winner)
			}
		})
	}
}

func TestReplayEvents(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gamma-events-2-slug.json", "gamma-events-3-negrisk.json"} {
		body := recorded(t, name)
		var events []struct{ Markets []json.RawMessage }
		if json.Unmarshal(body, &events) != nil {
			events = make([]struct{ Markets []json.RawMessage }, 1)
			if err := json.Unmarshal(body, &events[0]); err != nil {
				t.Fatal(err)
			}
		}
		list, err := json.Marshal(events[0].Markets)
		if err != nil {
			t.Fatal(err)
		}
		got, err := replay(t, map[string][]byte{"/markets/keyset": list}).Top(t.Context(), 100)
		if err != nil || len(got.Markets)+got.Dropped["closed"] != len(events[0].Markets) {
			t.Errorf("%s: got %d of %d, %v, %v", name, len(got.Markets), len(events[0].Markets), got.Dropped, err)
		}
	}
}

// TestReplayCategories checks that nearly every open market with tags has a category.
func TestReplayCategories(t *testing.T) {
	t.Parallel()
	var markets []json.RawMessage
	for _, name := range []string{"gamma-events-2-slug.json", "gamma-events-3-negrisk.json", "gamma-public-search-1.json"} {
		for _, event := range recordedEvents(t, recorded(t, name)) {
			nested, _ := event["markets"].([]any)
			delete(event, "markets")
			for _, m := range nested {
				m := m.(map[string]any)
				m["events"] = []any{event}
				raw, err := json.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				markets = append(markets, raw)
			}
		}
	}
	page, err := json.Marshal(map[string]any{"markets": markets})
	if err != nil {
		t.Fatal(err)
	}
	got, err := replay(t, map[string][]byte{"/markets/keyset": page}).Top(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	tagged, fits := 0, 0
	for _, m := range got.Markets {
		if len(m.Tags) > 0 {
			tagged++
		}
		if m.Category != "" {
			fits++
		}
		checkTitle(t, &m)
	}
	if tagged < 5 || 100*fits < 95*tagged {
		t.Errorf("%d of %d open markets with tags have a category", fits, tagged)
	}
}

// recordedEvents reads events from the three formats in which they were recorded.
func recordedEvents(t *testing.T, body []byte) []object {
	t.Helper()
	var list []object
	if json.Unmarshal(body, &list) == nil {
		return list
	}
	var one struct{ Events []object }
	if err := json.Unmarshal(body, &one); err != nil {
		t.Fatal(err)
	}
	if len(one.Events) > 0 {
		return one.Events
	}
	list = make([]object, 1)
	if err := json.Unmarshal(body, &list[0]); err != nil {
		t.Fatal(err)
	}
	return list
}
