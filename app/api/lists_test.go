package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/app/signal"
)

// pages reads a list to its end, page by page, and returns the values of one field of its items.
func (s *service) pages(t *testing.T, path, list, field string) (values []string) {
	t.Helper()
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	next := ""
	for range 20 {
		page := s.do(t, call{path: path + separator + "limit=1" + next}).fine()
		for i := range page.count(list) {
			values = append(values, page.text(list, i, field))
		}
		if page.at("nextCursor") == nil {
			return values
		}
		next = "&cursor=" + page.text("nextCursor")
	}
	t.Errorf("%s doesn't end", path)
	return values
}

func (s *service) expectPages(t *testing.T, path, list, field, want string) {
	t.Helper()
	if got := strings.Join(s.pages(t, path, list, field), " "); got != want {
		t.Errorf("%s: %q, want %q", path, got, want)
	}
}

func TestMarketsGoOnBehindTheSnapshot(t *testing.T) {
	t.Parallel()
	eachBench(t, func(t *testing.T, b *bench) {
		soon := sibling("2", "sleet", 0.2, 10)
		soon.Category, soon.ClosesAt = "climate", time.Now().Add(time.Hour)
		over := sibling("3", "hail", 0.2, 10)
		over.Closed, over.Active = true, false
		b.observe(t, []market.Market{soon, over})
		for path, want := range map[string]string{
			"": "rain snow sleet", "?sort=volume": "rain snow sleet", "?sort=closesAt": "sleet rain snow", "?sort=newest&q=will": "sleet rain snow",
			"?status=open&category=Climate": "sleet", "?status=closed": "hail", "?status=closed&sort=closesAt": "hail", "?sort=volume&tag=Lake+Cup": "sleet",
			"?sort=newest&closesBefore=2020-01-01T00:00:00Z": "",
		} {
			b.expectPages(t, "/api/intelligence/markets"+path, "markets", "id", want)
		}
		closed := b.do(t, call{path: "/api/intelligence/markets?status=closed"}).fine()
		if closed.at("markets", 0, "closed") != true || closed.at("stale") != false || closed.at("asOf") == nil {
			t.Errorf("closed: %s", closed.raw)
		}
		b.expectPages(t, "/api/intelligence/events?sort=closesAt", "events", "id", "2 weather")
		b.expectPages(t, "/api/intelligence/events?closesBefore="+time.Now().Add(2*time.Hour).UTC().Format(time.RFC3339), "events", "id", "2")
		for _, query := range []string{"sort=title", "sort=", "status=won", "cursor=x", "cursor=!!", "sort=newest&limit=0", "status=closed&closesBefore=soon"} {
			b.do(t, call{path: "/api/intelligence/markets?" + query}).refused(http.StatusBadRequest, "invalid_parameter")
		}
		b.do(t, call{path: "/api/intelligence/markets?sort=newest", header: map[string]string{"User-Agent": "curl/8.5.0"}}).
			refused(http.StatusForbidden, "user_agent_rejected")
	})
}

func TestNewsGoOnBehindTheSnapshot(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		var items []news.Item
		for i, id := range []string{"a", "b", "c"} {
			items = append(items, news.Item{
				ID: id, Source: "reddit", Community: news.Communities[i%2], Title: "Item " + id, URL: "https://example.org/" + id,
				Permalink: "https://example.org/p/" + id, PostedAt: time.Now().Add(time.Duration(i) * time.Minute), ObservedAt: time.Now(),
			})
		}
		if err := (news.Store{}).Observe(t.Context(), s.DB, items); err != nil {
			t.Fatal(err)
		}
		s.expectPages(t, "/api/intelligence/news?sort=newest", "news", "id", "c b a")
		s.expectPages(t, "/api/intelligence/news?sort=newest&community="+news.Communities[0], "news", "id", "c a")
		s.expectPages(t, "/api/intelligence/news?sort=newest&q=item+B", "news", "id", "b")
		if first := s.do(t, call{path: "/api/intelligence/news"}).fine(); first.at("nextCursor") != nil {
			t.Errorf("the news without sort has a next cursor: %s", first.raw)
		}
		for _, query := range []string{"sort=oldest", "cursor=x", "sort=newest&community=cats"} {
			s.do(t, call{path: "/api/intelligence/news?" + query}).refused(http.StatusBadRequest, "invalid_parameter")
		}
	})
}

// TestNewsSearchesAgree checks that a search finds the same in the current news, which are in memory, and in the stored
// items.
func TestNewsSearchesAgree(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		var items []news.Item
		for i, texts := range [][2]string{{"Österreich wählt", ""}, {"A vote", "in ÖSTERREICH, 2027"}, {"ÉLECTION à Paris", "100% of_it"}, {"İzmir", "Ξένη Σ"}, {"次の東京都知事選", ""}} {
			items = append(items, news.Item{
				ID: fmt.Sprint(i), Source: "reddit", Community: news.Communities[0], Title: texts[0], Summary: texts[1], Position: i,
				URL: fmt.Sprint("https://example.org/", i), Permalink: fmt.Sprint("https://example.org/p/", i),
				PostedAt: time.Now().Add(-time.Duration(i) * time.Minute), ObservedAt: time.Now(),
			})
		}
		sample := items[0] // live news replaces it
		sample.ID, sample.Sample, sample.Title = "sample", true, "Österreich 2027 vote.in 100% of_it Élection İzmir σ"
		if err := (news.Store{}).Observe(t.Context(), s.DB, append(slices.Clip(items), sample)); err != nil {
			t.Fatal(err)
		}
		s.News.Replicator.Feed().Publish(signal.Reading[news.Item]{Records: items, AsOf: time.Now(), Source: "reddit", Interval: time.Hour})
		for q, want := range map[string]string{
			"österreich": "0 1", "ÖSTERREICH": "0 1", "Österreich 2027": "1", "élection": "2", "Election": "", "100%": "2", "of it": "2", "of_it": "2", "ofit": "",
			"izmir": "3", "ξένη": "3", "σ": "3", "vote!in": "1",
			"reich": "", "wäh öster": "0", "東京": "4", "知事選": "4", "次東": "", "lection": "", "p": "2", "f": "",
		} {
			for _, order := range []string{"", "sort=newest&"} {
				path := "/api/intelligence/news?" + order + "limit=10&q=" + url.QueryEscape(q)
				got := s.do(t, call{path: path}).fine()
				var ids []string
				for i := range got.count("news") {
					ids = append(ids, got.text("news", i, "id"))
				}
				if found := strings.Join(ids, " "); found != want {
					t.Errorf("%s: %q, want %q", path, found, want)
				}
			}
		}
	})
}

// TestSearchesBoundWords checks that every search by words refuses more than 32 different ones.
func TestSearchesBoundWords(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		words := "w0"
		for i := range 31 {
			words += fmt.Sprint(" w", i+1)
		}
		for _, path := range []string{
			"/api/intelligence/markets?", "/api/intelligence/markets?sort=newest&", "/api/intelligence/news?", "/api/intelligence/news?sort=newest&",
			"/api/intelligence/events?", "/api/predictions?",
		} {
			s.do(t, call{path: path + "q=" + url.QueryEscape(words+" W1 w2")}).fine()
			s.do(t, call{path: path + "q=" + url.QueryEscape(strings.Repeat("ﷺ", 200))}).fine()
			detail := s.do(t, call{path: path + "q=" + url.QueryEscape(words+" w32")}).refused(400, "invalid_parameter")
			if detail != "q may have at most 32 different words, got 33" {
				t.Errorf("%s: %s", path, detail)
			}
		}
	})
}

func TestReadingBehindTheSnapshotCountsAsReads(t *testing.T) {
	t.Parallel()
	s := start(t, backends[0], func(c *config.Config) { c.RateLimitReads = config.Rate{N: 1, Per: time.Hour} })
	for range 3 { // the first one has to be compressed
		if a := s.do(t, call{path: "/api/intelligence/markets?q=rain"}).fine(); a.header.Get("RateLimit") != "" {
			t.Errorf("the snapshot counts: %v", a.header)
		}
	}
	if a := s.do(t, call{path: "/api/intelligence/markets?sort=newest"}).fine(); a.header.Get("RateLimit") == "" {
		t.Errorf("doesn't count: %v", a.header)
	}
	s.do(t, call{path: "/api/intelligence/news?sort=newest"}).refused(http.StatusTooManyRequests, "rate_limited")
}

func TestAgentsAndAssignmentsHavePages(t *testing.T) {
	t.Parallel()
	eachBench(t, func(t *testing.T, b *bench) {
		key := b.register(t, "Ada")
		b.register(t, "Bob")
		b.register(t, "Adam")
		b.look(t, key)
		b.expectPages(t, "/api/agents", "agents", "handle", "ada adam bob")
		b.expectPages(t, "/api/agents?q=ADA", "agents", "handle", "ada adam")
		acts := moderation.New(moderation.Options{DB: b.DB, Now: b.now, Settlement: b.Settlement})
		act := moderation.Act{Actor: "eve", Reason: "a test"}
		if _, err := acts.Disable(t.Context(), act, "adam"); err != nil {
			t.Fatal(err)
		}
		for i, id := range []string{"snow", "rain"} {
			due := b.now().Add(time.Duration(24+i) * time.Hour)
			if _, err := acts.WriteAssignment(t.Context(), act, assignment.Draft{MarketID: id, DueAt: due}); err != nil {
				t.Fatal(err)
			}
		}
		b.look(t, key)
		b.expectPages(t, "/api/agents", "agents", "handle", "ada bob")
		b.expectPages(t, "/api/assignments", "assignments", "outcome", "Yes Yes")
		first := b.do(t, call{path: "/api/assignments?limit=1", bearer: key}).fine()
		second := b.do(t, call{path: "/api/assignments?limit=1&cursor=" + first.text("nextCursor"), bearer: key}).fine()
		if first.text("assignments", 0, "market", "id") != "snow" || second.text("assignments", 0, "market", "id") != "rain" || second.at("nextCursor") != nil {
			t.Errorf("with a bearer: %s\n%s", first.raw, second.raw)
		}
		for _, path := range []string{"/api/agents?cursor=x", "/api/agents?cursor=" + first.text("nextCursor"), "/api/assignments?cursor=x", "/api/agents?limit=0"} {
			b.do(t, call{path: path}).refused(http.StatusBadRequest, "invalid_parameter")
		}
	})
}

func TestModelsCompareAndChanges(t *testing.T) {
	t.Parallel()
	eachBench(t, func(t *testing.T, b *bench) {
		ada, bob := b.register(t, "Ada"), b.register(t, "Bob")
		id := b.publish(t, ada, "rain", nil)
		b.publish(t, bob, "rain", map[string]any{"confidence": 0.3})
		over := sibling("3", "hail", 0.2, 10)
		over.Closed, over.Active = true, false
		b.observe(t, []market.Market{over})
		acts := moderation.New(moderation.Options{DB: b.DB, Now: b.now, Settlement: b.Settlement})
		for _, r := range []moderation.Ruling{
			{Kind: settlement.KindPredictionVoided, Subject: id}, {Kind: settlement.KindMarketVoided, Subject: "hail"},
		} {
			if err := acts.Rule(t.Context(), moderation.Act{Actor: "eve", Reason: "a test"}, r); err != nil {
				t.Fatal(err)
			}
		}
		b.look(t, ada)
		b.expectPages(t, "/api/changes", "changes", "kind", "market_voided prediction_voided")
		changes := b.do(t, call{path: "/api/changes"}).fine()
		if changes.text("changes", 0, "market", "question") != "Will hail win?" || changes.at("changes", 0, "prediction") != nil ||
			changes.text("changes", 1, "prediction", "id") != id || changes.text("changes", 1, "note") != "a test" || changes.text("rules", 0, "version") != score.RulesVersion {
			t.Errorf("changes: %s", changes.raw)
		}
		both := b.do(t, call{path: "/api/compare?a=ada&b=bob"}).fine()
		if both.text("a", "agent", "handle") != "ada" || both.text("b", "agent", "handle") != "bob" || both.text("shared", "count") != "0" || both.at("shared", "difference") != nil {
			t.Errorf("compare: %s", both.raw)
		}
		if models := b.do(t, call{path: "/api/models?window=90d"}).fine(); models.text("window") != "90d" || models.count("models") != 0 {
			t.Errorf("models: %s", models.raw)
		}
		for path, status := range map[string]int{
			"/api/compare": 400, "/api/compare?a=ada": 400, "/api/compare?a=ada&b=ada": 400, "/api/compare?a=ada&b=nobody-here": 404,
			"/api/models?window=7d": 400, "/api/models?cursor=x": 400, "/api/models?limit=101": 400, "/api/changes?cursor=x": 400, "/api/changes?limit=x": 400,
		} {
			b.do(t, call{path: path}).refused(status, map[int]string{400: "invalid_parameter", 404: "not_found"}[status])
		}
	})
}

// TestReferenceLeadsToTheLeaderboard checks that every answer about a reference agent has the address
// of the leaderboard, because the site has no page about it.
func TestReferenceLeadsToTheLeaderboard(t *testing.T) {
	t.Parallel()
	eachBench(t, func(t *testing.T, b *bench) {
		b.register(t, "Ada")
		if err := b.Boards.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		base := b.Config().BaseURL
		board, page := base+"/leaderboard", base+"/agents/ada"
		both := b.do(t, call{path: "/api/compare?a=ada&b=market"}).fine()
		if a, m := both.text("a", "agent", "url"), both.text("b", "agent", "url"); a != page || m != board {
			t.Errorf("compared: %s and %s", a, m)
		}
		if url := b.do(t, call{path: "/api/agents/consensus"}).fine().text("agent", "url"); url != board {
			t.Errorf("the agent: %s", url)
		}
		rows := b.do(t, call{path: "/api/leaderboard"}).fine()
		for i := range rows.count("leaderboard") {
			if url := rows.text("leaderboard", i, "agent", "url"); rows.at("leaderboard", i, "reference") != true || url != board {
				t.Errorf("row %d, %s: %s", i, rows.text("leaderboard", i, "agent", "handle"), url)
			}
		}
		if rows.count("leaderboard") == 0 {
			t.Error("the leaderboard has no reference rows")
		}
	})
}
