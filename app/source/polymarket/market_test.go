package polymarket

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pulsecast/pulsecast/app/market"
)

var observed = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// with decodes a valid market with some fields replaced. A nil value removes the field.
func with(t *testing.T, fields map[string]any) market.Market {
	t.Helper()
	record := map[string]any{
		"id": "1", "question": "Q?", "outcomes": `["Yes","No"]`, "outcomePrices": `["0.6","0.4"]`,
		"active": true, "closed": false, "archived": false,
	}
	for k, v := range fields {
		record[k] = v
		if v == nil {
			delete(record, k)
		}
	}
	raw, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	m, _, reason := decodeMarket(raw, observed, false)
	if reason != "" {
		t.Fatalf("dropped with reason %s: %s", reason, raw)
	}
	return m
}

type fields = map[string]any

func event(f fields) []any { return []any{f} }

func TestMappingRules(t *testing.T) {
	t.Parallel()
	num := func(p *float64) any {
		if p == nil {
			return nil
		}
		return *p
	}
	book := func(m market.Market) any {
		if (m.BestBid == nil) != (m.BestAsk == nil) {
			return "half a book"
		}
		if m.BestBid == nil {
			return "none"
		}
		return fmt.Sprint(*m.BestBid, " ", *m.BestAsk)
	}
	at := func(t time.Time) any { return t.Format(time.RFC3339Nano) }
	sixty := []any{fields{"slug": "nfl"}}
	for i := range 59 {
		sixty = append(sixty, fmt.Sprintf("Tag %d", i+1))
	}
	settled := fields{"closed": true, "outcomePrices": `["0","1"]`, "lastTradePrice": 0.4}
	cases := []struct {
		name string
		in   fields
		get  func(m market.Market) any
		want any
	}{
		{"id as number", fields{"id": 516938}, func(m market.Market) any { return m.ID }, "516938"},
		{"question trimmed", fields{"question": " Q1 \n"}, func(m market.Market) any { return m.Question }, "Q1"},
		{"control characters", fields{"question": "A\x00B\x1b?"}, func(m market.Market) any { return m.Question }, "AB?"},
		{"title is the question", nil, func(m market.Market) any { return m.Title }, "Q?"},
		{"title of a choice", fields{"groupItemTitle": " B ", "events": event(fields{"title": "Who?"})}, func(m market.Market) any { return m.Title }, "Who? — B"},
		{"choice without event", fields{"groupItemTitle": "B"}, func(m market.Market) any { return m.Title }, "Q?"},
		{"event without choice", fields{"groupItemTitle": "", "events": event(fields{"title": "Who?"})}, func(m market.Market) any { return m.Title }, "Q?"},
		{"slug empty", fields{"slug": ""}, func(m market.Market) any { return m.Slug }, ""},
		{"category", fields{"category": "Crypto", "events": event(fields{"category": "Other"})}, func(m market.Market) any { return m.Category }, "crypto"},
		{"category of event", fields{"events": event(fields{"category": "US-Politics"})}, func(m market.Market) any { return m.Category }, "politics"},
		{"category of tag", fields{"tags": []any{nil, fields{"label": "Space"}, fields{"label": "Rockets"}}}, func(m market.Market) any { return m.Category }, "science"},
		{"category of text tag", fields{"tags": []any{"Space"}}, func(m market.Market) any { return m.Category }, "science"},
		{"category of event tag", fields{"events": event(fields{"tags": []any{fields{"label": "Space"}}})}, func(m market.Market) any { return m.Category }, "science"},
		{"no category of an unknown tag", fields{"tags": []any{"Lake Omber"}}, func(m market.Market) any { return m.Category }, ""},
		{"tags", fields{"tags": []any{nil, fields{"label": "Space X"}, fields{"slug": "15M", "label": "15 min"}, "a/b?c", 5, fields{}, []any{}, "15m"}},
			func(m market.Market) any { return m.Tags }, []string{"space-x", "15m", "a/b?c", "5"}},
		{"tags as text that holds an array", fields{"tags": `[{"slug":"crypto"},null,"nba"]`}, func(m market.Market) any { return m.Tags }, []string{"crypto", "nba"}},
		{"tags as one text", fields{"tags": "Crypto"}, func(m market.Market) any { return m.Tags }, []string{"crypto"}},
		{"tags as an object", fields{"tags": fields{"slug": "x"}}, func(m market.Market) any { return m.Tags }, []string(nil)},
		{"tags null", fields{"tags": nil}, func(m market.Market) any { return m.Tags }, []string(nil)},
		{"tags of market and event", fields{"tags": []any{"nba"}, "events": event(fields{"tags": []any{"sports", "nba"}})},
			func(m market.Market) any { return m.Tags }, []string{"nba", "sports"}},
		{"sixty tags", fields{"tags": sixty}, func(m market.Market) any { return fmt.Sprint(len(m.Tags), " ", m.Tags[59], " ", m.Category) }, "60 tag-59 sports"},
		{"in two events", fields{"events": []any{nil, fields{"title": "No id"}, fields{"id": 7, "title": "Seven"}, fields{"id": 8}}},
			func(m market.Market) any { return m.EventID + m.EventTitle }, "7Seven"},
		{"place in its event", fields{"groupItemThreshold": "3", "events": event(fields{"id": 7})}, func(m market.Market) any { return num(m.EventPosition) }, 3.0},
		{"place without event", fields{"groupItemThreshold": 3}, func(m market.Market) any { return num(m.EventPosition) }, nil},
		{"title of an event with a blank", fields{"groupItemTitle": "$1B", "events": event(fields{"id": 7, "title": "FDV above ___?"})}, func(m market.Market) any { return m.Title }, "Q?"},
		{"title of only a blank", fields{"question": "___", "slug": "lake-omber-dry"}, func(m market.Market) any { return m.Title }, "lake omber dry"},
		{"title of nothing but a blank", fields{"question": "___?"}, func(m market.Market) any { return m.Title }, "Market 1"},

		{"no category", nil, func(m market.Market) any { return m.Category }, ""},

		{"outcomes as array", fields{"outcomes": []any{"Up", "Down"}}, func(m market.Market) any { return m.Outcomes }, []string{"Up", "Down"}},
		{"prices", nil, func(m market.Market) any { return m.Prices }, []float64{0.6, 0.4}},
		{"prices of 37 digits", fields{"outcomePrices": `["0.1234567890123456789012345678901234567","0.9"]`}, func(m market.Market) any { return m.Prices }, []float64{0.12345678901234568, 0.9}},
		{"prices clamped", fields{"outcomePrices": `["1.01","-0.01"]`}, func(m market.Market) any { return m.Prices }, []float64{1, 0}},
		{"prices all zero", fields{"outcomePrices": `["0","0"]`}, func(m market.Market) any { return m.Prices }, []float64(nil)},
		{"prices of another length", fields{"outcomePrices": `["1"]`}, func(m market.Market) any { return m.Prices }, []float64(nil)},
		{"prices not numbers", fields{"outcomePrices": `["NaN","0.5"]`}, func(m market.Market) any { return m.Prices }, []float64(nil)},
		{"prices infinite", fields{"outcomePrices": `["Inf","0"]`}, func(m market.Market) any { return m.Prices }, []float64(nil)},
		{"prices with a hole", fields{"outcomePrices": []any{0.5, nil}}, func(m market.Market) any { return m.Prices }, []float64(nil)},
		{"probability of Yes", fields{"outcomes": `["No","Yes"]`}, func(m market.Market) any { return num(m.Probability) }, 0.4},
		{"probability of the first", fields{"outcomes": `["Up","Down"]`}, func(m market.Market) any { return num(m.Probability) }, 0.6},
		{"probability unknown", fields{"outcomePrices": nil}, func(m market.Market) any { return num(m.Probability) }, nil},
		{"probability at 0/0", fields{"outcomePrices": `["0","0"]`}, func(m market.Market) any { return num(m.Probability) }, nil},

		{"price of last trade", fields{"lastTradePrice": "0.7", "bestBid": 0.1, "bestAsk": 0.2}, func(m market.Market) any { return num(m.Price) }, 0.7},
		{"price of the book", fields{"bestBid": 0.5, "bestAsk": 0.75}, func(m market.Market) any { return num(m.Price) }, 0.625},
		{"price of the book of No", fields{"outcomes": `["No","Yes"]`, "bestBid": 0.5, "bestAsk": 0.75}, func(m market.Market) any { return num(m.Price) }, 0.375},
		{"price of the book of the first of three", fields{"outcomes": `["No","Yes","Maybe"]`, "outcomePrices": `["0.6","0.25","0.15"]`, "bestBid": 0.5, "bestAsk": 0.75},
			func(m market.Market) any { return num(m.Price) }, 0.25},
		{"price with half a book", fields{"bestAsk": 0.75}, func(m market.Market) any { return num(m.Price) }, 0.6},
		{"price clamped", fields{"lastTradePrice": 1.5}, func(m market.Market) any { return num(m.Price) }, 1.0},
		{"price unknown", fields{"outcomePrices": nil}, func(m market.Market) any { return num(m.Price) }, nil},
		{"price settled", settled, func(m market.Market) any { return num(m.Price) }, 0.0},

		{"book", fields{"bestBid": 0.58, "bestAsk": 0.62}, book, "0.58 0.62"},
		{"book as text", fields{"bestBid": "0.58", "bestAsk": "0.62"}, book, "0.58 0.62"},
		{"book without bids", fields{"bestAsk": 0.03}, book, "0 0.03"},
		{"book with null for no bids", fields{"bestBid": json.RawMessage("null"), "bestAsk": 0.03}, book, "0 0.03"},
		{"book without asks", fields{"bestBid": 0.97}, book, "0.97 1"},
		{"empty book", fields{"bestBid": 0, "bestAsk": 1, "outcomePrices": `["0.5","0.5"]`}, book, "0 1"},
		{"empty book without bids", fields{"bestAsk": 1, "outcomePrices": `["0.5","0.5"]`}, book, "0 1"},
		{"no book", nil, book, "none"},
		{"crossed book", fields{"bestBid": 0.7, "bestAsk": 0.6}, book, "none"},
		{"negative bid", fields{"bestBid": -0.1, "bestAsk": 0.6}, book, "none"},
		{"ask above one", fields{"bestBid": 0.1, "bestAsk": 1.6}, book, "none"},
		{"bid not a number", fields{"bestBid": "NaN", "bestAsk": 0.6}, book, "none"},
		{"ask in words", fields{"bestBid": 0.5, "bestAsk": "none"}, book, "none"},
		{"ask of another type", fields{"bestBid": 0.5, "bestAsk": []any{0.6}}, book, "none"},
		{"book of a closed market", fields{"closed": true, "bestBid": 0.5, "bestAsk": 0.6}, book, "none"},

		{"volume of a day", fields{"volume24hr": "12.5"}, func(m market.Market) any { return num(m.Volume24h) }, 12.5},
		{"volume of a day negative", fields{"volume24hr": -1}, func(m market.Market) any { return num(m.Volume24h) }, nil},
		{"change of a day", fields{"oneDayPriceChange": -0.013}, func(m market.Market) any { return num(m.PriceChange24h) }, -0.013},
		{"change of a day beyond a price", fields{"oneDayPriceChange": 1.2}, func(m market.Market) any { return num(m.PriceChange24h) }, nil},
		{"change of a day unreadable", fields{"oneDayPriceChange": "Inf"}, func(m market.Market) any { return num(m.PriceChange24h) }, nil},

		{"volumeNum first", fields{"volumeNum": 5, "volume": "6"}, func(m market.Market) any { return num(m.Volume) }, 5.0},
		{"volume as text", fields{"volume": "6.5"}, func(m market.Market) any { return num(m.Volume) }, 6.5},
		{"volume unreadable", fields{"volumeNum": "NaN", "volume": "Inf"}, func(m market.Market) any { return num(m.Volume) }, nil},
		{"volume negative", fields{"volumeNum": -1}, func(m market.Market) any { return num(m.Volume) }, nil},
		{"liquidity as text", fields{"liquidity": "6.5"}, func(m market.Market) any { return num(m.Liquidity) }, 6.5},
		{"liquidityNum first", fields{"liquidityNum": 1, "liquidity": "6.5"}, func(m market.Market) any { return num(m.Liquidity) }, 1.0},

		{"end date", fields{"endDate": "2027-01-01T05:00:00.123456Z", "endDateIso": "2027-02-02"}, func(m market.Market) any { return at(m.ClosesAt) }, "2027-01-01T05:00:00.123456Z"},
		{"end date of event", fields{"events": event(fields{"endDate": "2027-01-01 05:00:00+00"}), "endDateIso": "2027-02-02"}, func(m market.Market) any { return at(m.ClosesAt) }, "2027-01-01T05:00:00Z"},
		{"bare end date", fields{"endDateIso": "2027-02-02"}, func(m market.Market) any { return at(m.ClosesAt) }, "2027-02-02T00:00:00Z"},
		{"end date in words", fields{"endDate": "April 11, 2022"}, func(m market.Market) any { return at(m.ClosesAt) }, "2022-04-11T00:00:00Z"},
		{"end date unreadable", fields{"endDate": "soon"}, func(m market.Market) any { return m.ClosesAt.IsZero() }, true},
		{"closed time", fields{"closed": true, "closedTime": "2026-03-19 23:20:15+00", "umaEndDate": "2026-03-20T00:00:00Z"}, func(m market.Market) any { return at(m.ClosedAt) }, "2026-03-19T23:20:15Z"},
		{"closed time of UMA", fields{"closed": true, "umaEndDate": "2026-03-20T00:00:00Z"}, func(m market.Market) any { return at(m.ClosedAt) }, "2026-03-20T00:00:00Z"},
		{"closed time of an open market", fields{"umaEndDate": "2026-03-20T00:00:00Z"}, func(m market.Market) any { return m.ClosedAt.IsZero() }, true},

		{"active", nil, func(m market.Market) any { return m.Active }, true},
		{"active but closed", fields{"closed": true}, func(m market.Market) any { return m.Active }, false},
		{"active but archived", fields{"archived": true}, func(m market.Market) any { return m.Active }, false},
		{"inactive", fields{"active": false}, func(m market.Market) any { return m.Active }, false},
		{"active missing", fields{"active": nil}, func(m market.Market) any { return m.Active }, true},

		{"image", fields{"image": "https://i.example/a", "icon": "https://i.example/b"}, func(m market.Market) any { return m.ImageURL }, "https://i.example/a"},
		{"icon", fields{"image": "javascript:x", "icon": "https://i.example/b"}, func(m market.Market) any { return m.ImageURL }, "https://i.example/b"},
		{"image of event", fields{"events": event(fields{"image": "https://i.example/c"})}, func(m market.Market) any { return m.ImageURL }, "https://i.example/c"},
		{"page of event", fields{"slug": "s", "events": event(fields{"slug": "e"})}, func(m market.Market) any { return m.URL }, "https://polymarket.com/event/e"},
		{"page of market", fields{"slug": "s"}, func(m market.Market) any { return m.URL }, "https://polymarket.com/market/s"},
		{"page with an odd slug", fields{"slug": "a/../b?c"}, func(m market.Market) any { return m.URL }, "https://polymarket.com/market/a%2F..%2Fb%3Fc"},
		{"no page", nil, func(m market.Market) any { return m.URL }, ""},
		{"event", fields{"events": event(fields{"id": 7, "title": "E"})}, func(m market.Market) any { return m.EventID + m.EventTitle }, "7E"},
		{"null event", fields{"events": []any{nil, fields{"id": "8"}}}, func(m market.Market) any { return m.EventID }, "8"},
		{"criteria keep lines", fields{"description": "a\n\nb\x00"}, func(m market.Market) any { return m.Description }, "a\n\nb"},
		{"resolution source as words", fields{"resolutionSource": "Official count: county clerk"}, func(m market.Market) any { return m.ResolutionSource }, "Official count: county clerk"},
		{"resolution source as link", fields{"resolutionSource": "https://a.example"}, func(m market.Market) any { return m.ResolutionSource }, "https://a.example"},
		{"resolution source as script", fields{"resolutionSource": "JavaScript: alert(1)"}, func(m market.Market) any { return m.ResolutionSource }, ""},

		{"stage", fields{"umaResolutionStatus": "Proposed"}, func(m market.Market) any { return m.Resolution }, "proposed"},
		{"stage unknown", fields{"umaResolutionStatus": "odd"}, func(m market.Market) any { return m.Resolution }, ""},
		{"scalar", fields{"marketType": "Scalar"}, func(m market.Market) any { return fmt.Sprint(m.Scalar, m.ScalarUnknown) }, "true false"},
		{"normal", fields{"marketType": "normal"}, func(m market.Market) any { return fmt.Sprint(m.Scalar, m.ScalarUnknown) }, "false false"},
		{"type missing", nil, func(m market.Market) any { return fmt.Sprint(m.Scalar, m.ScalarUnknown) }, "false true"},
		{"type of another type", fields{"marketType": []any{}}, func(m market.Market) any { return fmt.Sprint(m.Scalar, m.ScalarUnknown) }, "false true"},
		{"tokens", fields{"clobTokenIds": `["7","8"]`}, func(m market.Market) any { return m.TokenIDs }, []string{"7", "8"}},
		{"tokens of another length", fields{"clobTokenIds": `["7"]`}, func(m market.Market) any { return m.TokenIDs }, []string(nil)},
		{"observed", nil, func(m market.Market) any { return m.ObservedAt.Equal(observed) && m.FirstSeenAt.Equal(observed) }, true},
		{"source", nil, func(m market.Market) any { return m.Source }, "polymarket"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := c.get(with(t, c.in)); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %#v, want %#v", got, c.want)
			}
		})
	}
}

func TestDroppedRecords(t *testing.T) {
	t.Parallel()
	named := func(n int) string {
		return `{"id":"1","question":"Q","outcomes":["a"` + strings.Repeat(`,"b"`, n-1) + `]}`
	}
	for raw, want := range map[string]string{
		`null`:   "null",
		`"text"`: "malformed",
		`[]`:     "malformed",
		`{}`:     "no_id",
		`{"id":"../x","question":"Q","outcomes":["a","b"]}`:       "no_id",
		`{"id":"1","outcomes":["a","b"]}`:                         "no_question",
		`{"id":"1","question":"\u0000","outcomes":["a","b"]}`:     "no_question",
		`{"id":"1","question":"Q"}`:                               "few_outcomes",
		`{"id":"1","question":"Q","outcomes":"[\"Yes\""}`:         "few_outcomes",
		`{"id":"1","question":"Q","outcomes":["Yes",null]}`:       "few_outcomes",
		`{"id":"1","question":"Q","outcomes":"[\"Yes\",\"No\"]"}`: "",
		named(market.MaxOutcomes):                                 "",
		named(market.MaxOutcomes + 1):                             "many_outcomes",
	} {
		if _, _, reason := decodeMarket([]byte(raw), observed, false); reason != want {
			t.Errorf("%s: got reason %q, want %q", raw, reason, want)
		}
	}
}

// FuzzDecodeMarket checks what storage and the API rely on, for any input.
func FuzzDecodeMarket(f *testing.F) {
	body, err := os.ReadFile("testdata/page.json")
	if err != nil {
		f.Fatal(err)
	}
	p, err := decodePage(body, "markets")
	if err != nil {
		f.Fatal(err)
	}
	for _, raw := range p.records {
		f.Add([]byte(raw))
	}
	f.Add([]byte(`{"id":"1","question":"Q","outcomes":["a","b"],"outcomePrices":["1e308","1e308"],"lastTradePrice":"-0"}`))
	f.Add([]byte(`{"id":"1","question":"Q\u0000\ud800","outcomes":"[\"a\",\"b\"]","events":[null,{"tags":[5]}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, _, reason := decodeMarket(raw, observed, false)
		if reason != "" {
			return
		}
		if m.ID == "" || m.Question == "" || m.Title == "" || len(m.Outcomes) < 2 {
			t.Fatalf("incomplete: %+v", m)
		}
		for _, s := range append(append(m.Outcomes, m.Tags...), m.EventSlug, m.ID, m.Question, m.Title, m.Slug, m.Category, m.URL, m.ImageURL, m.Description, m.ResolutionSource, m.EventID, m.EventTitle, m.ConditionID) {
			if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
				t.Fatalf("got a text that can't be stored: %q", s)
			}
		}
		unit := m.Prices
		if (m.BestBid == nil) != (m.BestAsk == nil) || m.BestBid != nil && *m.BestBid > *m.BestAsk {
			t.Fatalf("got book %v %v", m.BestBid, m.BestAsk)
		}
		for _, p := range []*float64{m.Probability, m.Price, m.BestBid, m.BestAsk} {
			if p != nil {
				unit = append(unit, *p)
			}
		}
		for _, p := range unit {
			if !(p >= 0 && p <= 1) {
				t.Fatalf("price %v", p)
			}
		}
		for _, p := range []*float64{m.Volume, m.Volume24h, m.Liquidity} {
			if p != nil && (!(*p >= 0) || math.IsInf(*p, 0)) {
				t.Fatalf("amount %v", *p)
			}
		}
		if m.Prices != nil && len(m.Prices) != len(m.Outcomes) {
			t.Fatalf("got %d prices for %d outcomes", len(m.Prices), len(m.Outcomes))
		}
	})
}
