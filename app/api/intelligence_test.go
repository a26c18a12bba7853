package api

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/contract"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/signal"
)

var signalsAt = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func number(v float64) *float64 { return &v }

// intelligence serves 120 markets and 12 news items as of signalsAt.
func intelligence() *Intelligence {
	now := func() time.Time { return signalsAt }
	h := &Intelligence{Markets: signal.NewFeed(MarketCodec(), now), News: signal.NewFeed(NewsCodec(), now)}
	var markets []market.Market
	for i := range 120 {
		markets = append(markets, market.Market{
			ID: fmt.Sprintf("m%03d", i), Question: fmt.Sprintf("Will Øre no. %d rise?", i), Title: "Rise — Øre", Category: []string{"economics", "sports"}[i%2],
			Probability: number(0.25), Volume: number(float64(1000 - i)), Outcomes: []string{"Yes", "No"}, Active: true,
			ClosesAt: signalsAt.Add(time.Duration(i) * time.Hour), URL: "https://example.org/?a=1&b=<2>",
		})
	}
	h.Markets.Publish(signal.Reading[market.Market]{Records: market.OpenByVolume(markets), AsOf: signalsAt, Interval: time.Minute})
	var items []news.Item
	for i, community := range slices.Concat(news.Communities, news.Communities) {
		items = append(items, news.Item{
			ID: fmt.Sprint(i), Community: community, Title: fmt.Sprintf("Headline %d", i), Summary: "of " + community, Position: i,
			URL: "https://example.org/", Permalink: "https://example.org/p", PostedAt: signalsAt.Add(-1500 * time.Millisecond),
		})
	}
	h.News.Publish(signal.Reading[news.Item]{Records: news.RoundRobin(items), AsOf: signalsAt, Interval: time.Minute})
	return h
}

func signalServer() *fiber.App { return serverOf(intelligence()) }

func serverOf(h *Intelligence) *fiber.App {
	server := fiber.New(fiber.Config{ErrorHandler: func(c *fiber.Ctx, err error) error {
		p := problem.As(err)
		return c.Status(p.Status).SendString(p.Code + ": " + p.Detail)
	}})
	server.Get("/markets", h.ListMarkets)
	server.Get("/news", h.ListNews)
	return server
}

type listAnswer struct {
	Markets    []map[string]any
	News       []map[string]any
	NextCursor string
	AsOf       string
	Stale      bool
}

func request(t *testing.T, server *fiber.App, method, target string) (int, string, map[string][]string) {
	t.Helper()
	resp, err := server.Test(httptest.NewRequest(method, target, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body), resp.Header
}

func TestListMarkets(t *testing.T) {
	t.Parallel()
	server := signalServer()
	tests := []struct {
		query string
		count int
		first string
	}{
		{"", 24, "m000"}, {"?limit=100", 100, "m000"}, {"?limit=1&unknown=x", 1, "m000"},
		{"?category=Sports", 24, "m001"}, {"?category=sports&limit=100", 60, "m001"}, {"?category=culture", 0, ""},
		{"?q=%C3%98RE+117", 1, "m117"}, {"?q=rise+(no.+7)", 11, "m007"}, {"?q=", 24, "m000"}, {"?q=nothing", 0, ""},
		{"?closesBefore=2026-11-21T14:30:00Z", 3, "m000"}, {"?closesBefore=2026-11-21T14:30:00%2B01:00", 2, "m000"},
		{"?closesBefore=2026-11-21t14:30:00z", 3, "m000"},
	}
	for _, tt := range tests {
		status, body, _ := request(t, server, "GET", "/markets"+tt.query)
		var a listAnswer
		if err := json.Unmarshal([]byte(body), &a); err != nil || status != 200 {
			t.Fatalf("%s: %d %s", tt.query, status, body)
		}
		if len(a.Markets) != tt.count || (tt.count > 0 && a.Markets[0]["id"] != tt.first) || a.Stale || a.AsOf != "2026-11-21T12:00:00Z" {
			t.Errorf("%s: %d markets, %.200s", tt.query, len(a.Markets), body)
		}
	}
}

// TestNextCursorOfTheSnapshot checks that a full page leads on after its last market. A page that isn't full leads on
// after the last market of the snapshot, because others may match. A snapshot of few markets holds all of them.
func TestNextCursorOfTheSnapshot(t *testing.T) {
	t.Parallel()
	large, few := intelligence(), intelligence()
	few.Markets.Publish(signal.Reading[market.Market]{
		Records: few.Markets.Current().Records[:signal.MaxLimit-1], AsOf: signalsAt.Add(time.Second), Interval: time.Minute,
	})
	for _, c := range []struct {
		of    *Intelligence
		query string
		after int // -1 if the list ends
	}{
		{large, "", 23}, {large, "?limit=100", 99}, {large, "?category=sports&limit=59", 117}, {large, "?category=sports&limit=60", 119},
		{large, "?category=economics&limit=60", 118}, {large, "?category=economics&limit=61", 119}, {large, "?q=117", 119}, {large, "?q=nothing", 119},
		{few, "", 23}, {few, "?limit=99", -1}, {few, "?category=economics&limit=50", 98}, {few, "?category=economics&limit=51", -1}, {few, "?q=nothing", -1},
	} {
		_, body, _ := request(t, serverOf(c.of), "GET", "/markets"+c.query)
		var a listAnswer
		if err := json.Unmarshal([]byte(body), &a); err != nil {
			t.Fatal(err)
		}
		want, records := "", c.of.Markets.Current().Records
		if c.after >= 0 {
			want = market.CursorAfter(&records[c.after])
		}
		if a.NextCursor != want {
			t.Errorf("%s of %d markets: got next cursor %q, want %q", c.query, len(records), a.NextCursor, want)
		}
	}
	if _, body, _ := request(t, serverOf(large), "GET", "/news?q=nothing"); !strings.Contains(body, `"nextCursor":null`) {
		t.Errorf("news: %s", body)
	}
}

func TestListNews(t *testing.T) {
	t.Parallel()
	server := signalServer()
	for query, want := range map[string]int{
		"": 12, "?limit=5": 5, "?community=science": 2, "?community=SCIENCE&limit=1": 1, "?q=headline+11": 1, "?q=headline+economics": 2,
	} {
		status, body, _ := request(t, server, "GET", "/news"+query)
		var a listAnswer
		if err := json.Unmarshal([]byte(body), &a); err != nil || status != 200 || len(a.News) != want {
			t.Errorf("%s: %d, %d items, %s", query, status, len(a.News), body)
		}
		if query == "" && (a.News[0]["community"] != "worldnews" || a.News[5]["community"] != "economics" || a.News[6]["community"] != "worldnews") {
			t.Errorf("not in the right order: %s", body)
		}
	}
}

func TestSignalListsRefuse(t *testing.T) {
	t.Parallel()
	server := signalServer()
	for target, says := range map[string]string{
		"/markets?limit=101":                     "from 1 to 100",
		"/news?limit=x":                          "from 1 to 100",
		"/markets?closesBefore=tomorrow":         "RFC 3339",
		"/markets?closesBefore=":                 "RFC 3339",
		"/markets?q=a&q=b":                       "repeated",
		"/markets?q=" + strings.Repeat("x", 201): "200",
		"/news?q=%00":                            "U+0000",
		"/news?q=%FF":                            "UTF-8",
		"/markets?q=%F0%9F%98%80":                "no letters or digits",
		"/news?q=!!!":                            "no letters or digits",
		"/markets?category=":                     "is empty",
		"/markets?tag=":                          "is empty",
		"/markets?category=econmics":             "must be one of politics, world, economics",
		"/news?community=sports":                 "worldnews, technology, science, futurology, politics, economics",
		"/news?community=":                       "worldnews",
	} {
		status, body, _ := request(t, server, "GET", target)
		if status != 400 || !strings.HasPrefix(body, "invalid_parameter") || !strings.Contains(body, says) {
			t.Errorf("%.60s: %d %s", target, status, body)
		}
	}
}

// TestCategoriesInDocument checks that the document names the categories that are accepted.
func TestCategoriesInDocument(t *testing.T) {
	t.Parallel()
	doc, err := contract.Document()
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(doc.Components.Schemas["MarketCategory"].Value.Enum); got != fmt.Sprint(market.Categories) {
		t.Errorf("got %s, want %s", got, market.Categories)
	}
}

func TestHeadAnswersWithoutABody(t *testing.T) {
	t.Parallel()
	server := signalServer()
	_, full, get := request(t, server, "GET", "/markets")
	status, body, head := request(t, server, "HEAD", "/markets")
	if status != 200 || body != "" || head["Etag"][0] != get["Etag"][0] || head["Content-Length"][0] != fmt.Sprint(len(full)) {
		t.Errorf("%d %q %v", status, body, head)
	}
}

func TestMarketWireHasEveryKey(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	odd := market.Market{ID: "x", Question: "Q<&>\u2028\xff", Probability: &nan, Price: number(1.5), Volume: &inf, Liquidity: number(-1),
		BestBid: &nan, BestAsk: number(1.5), Volume24h: &inf, PriceChange24h: number(-2),
		ClosesAt: time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)}
	var got map[string]any
	if err := json.Unmarshal(EncodeMarket(nil, &odd), &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"slug", "category", "probability", "price", "volume", "liquidity", "bestBid", "bestAsk", "volume24h", "priceChange24h", "endDate", "end_date", "url", "image", "eventId"} {
		if v, there := got[key]; !there || v != nil {
			t.Errorf("%s: %v, there %v", key, v, there)
		}
	}
	if got["title"] != got["question"] || len(got["outcomes"].([]any)) != 0 || got["sample"] != false || got["active"] != false || got["closed"] != false || len(got["tags"].([]any)) != 0 || len(got) != 23 {
		t.Errorf("%v", got)
	}
	full := market.Market{ID: "x", Question: "Q", Title: "T", Slug: "s", Category: "c", Probability: number(0), Price: number(1), Volume: number(1e21), Liquidity: number(2),
		BestBid: number(0), BestAsk: number(.5), Volume24h: number(3), PriceChange24h: number(-.25), Outcomes: []string{"A"}, ClosesAt: signalsAt, Active: true, URL: "u", ImageURL: "i", Sample: true, Tags: []string{"t"}, EventID: "e"}
	want := `{"id":"x","question":"Q","title":"T","slug":"s","category":"c","probability":0,"price":1,"volume":1e+21,"liquidity":2,"bestBid":0,"bestAsk":0.5,"volume24h":3,"priceChange24h":-0.25,"outcomes":["A"],"endDate":"2026-11-21T12:00:00Z","end_date":"2026-11-21T12:00:00Z","active":true,"closed":false,"url":"u","image":"i","sample":true,"tags":["t"],"eventId":"e"}`
	if got := string(EncodeMarket(nil, &full)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestNewsWireHasEveryKey(t *testing.T) {
	t.Parallel()
	item := news.Item{ID: "a", Community: "science", Title: "T", Score: 7, Comments: 3, ScoreKnown: true, URL: "u", Permalink: "p",
		PostedAt: signalsAt, SelfPost: true}
	want := `{"id":"a","community":"science","title":"T","summary":null,"score":7,"comments":3,"numComments":3,"num_comments":3,"scoreKnown":true,"url":"u","permalink":"p","author":"[deleted]","createdAt":"2026-11-21T12:00:00Z","createdUtc":1795262400,"created_utc":1795262400,"isSelf":true,"flair":null,"thumbnail":null,"sample":false}`
	if got := string(EncodeNews(nil, &item)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestListMarketsAllocatesNothing(t *testing.T) {
	h := intelligence()
	ctx := new(fasthttp.RequestCtx)
	for _, uri := range []string{"/api/intelligence/markets", "/api/intelligence/markets?limit=24"} {
		for _, accept := range []string{"", "gzip, br", "gzip, deflate, br, zstd", "gzip;q=0.5", "identity"} {
			n := testing.AllocsPerRun(1000, func() {
				ctx.Request.Reset()
				ctx.Response.Reset()
				ctx.Request.SetRequestURI(uri)
				ctx.Request.Header.Set("Accept-Encoding", accept)
				if err := h.listMarkets(ctx, free); err != nil {
					t.Fatal(err)
				}
			})
			if n != 0 || ctx.Response.StatusCode() != 200 {
				t.Errorf("%s, Accept-Encoding %q: %v allocations, status %d", uri, accept, n, ctx.Response.StatusCode())
			}
		}
	}
}

func TestSignalListsRevalidate(t *testing.T) {
	t.Parallel()
	h := intelligence()
	get := func(accept, ifNoneMatch string) *fasthttp.Response {
		t.Helper()
		ctx := new(fasthttp.RequestCtx)
		ctx.Request.SetRequestURI("/api/intelligence/markets")
		ctx.Request.Header.Set("Accept-Encoding", accept)
		ctx.Request.Header.Set("If-None-Match", ifNoneMatch)
		if err := h.listMarkets(ctx, free); err != nil {
			t.Fatal(err)
		}
		return &ctx.Response
	}
	first := get("gzip", "")
	tag := string(first.Header.Peek("ETag"))
	body, err := first.BodyGunzip()
	var a listAnswer
	if err != nil || json.Unmarshal(body, &a) != nil || len(a.Markets) != signal.DefaultLimit {
		t.Errorf("%d markets, %v", len(a.Markets), err)
	}
	for name, want := range map[string]string{
		"Content-Encoding": "gzip", "Vary": "Accept-Encoding", "Content-Type": "application/json",
		"Cache-Control": "public, max-age=5, stale-while-revalidate=30",
	} {
		if got := string(first.Header.Peek(name)); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	again := get("gzip", `"other", W/`+tag)
	if again.StatusCode() != 304 || len(again.Body()) != 0 || string(again.Header.Peek("ETag")) != tag {
		t.Errorf("%d %q", again.StatusCode(), again.Body())
	}
	if plain := get("", tag); plain.StatusCode() != 200 {
		t.Error("the tag of the compressed form matches the plain one")
	}
}

func BenchmarkListMarkets(b *testing.B) {
	h := intelligence()
	ctx := new(fasthttp.RequestCtx)
	b.ReportAllocs()
	for b.Loop() {
		ctx.Request.Reset()
		ctx.Response.Reset()
		ctx.Request.SetRequestURI("/api/intelligence/markets?limit=24")
		if err := h.listMarkets(ctx, free); err != nil {
			b.Fatal(err)
		}
	}
}
