package web_test

import (
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/uptrace/bun"
	"github.com/valyala/fasthttp/fasthttputil"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/api"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/identity"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/release"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/app/signal"
	"github.com/pulsecast/pulsecast/app/web"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const base = "http://pulse.test"

// house is the site on a database with one agent, two markets, news and a prediction.
type house struct {
	t       *testing.T
	db      *database.DB
	client  *http.Client
	markets *signal.Feed[market.Market]
	agent   *agent.Agent
	config  *config.Config
	now     time.Time
}

func open(t *testing.T, db *database.DB) *house {
	t.Helper()
	return openWith(t, db, func(*config.Config) {})
}

// openWith is open with changed settings.
func openWith(t *testing.T, db *database.DB, set func(*config.Config)) *house {
	t.Helper()
	h := &house{t: t, db: db, now: start, config: &config.Config{
		BaseURL: base, EdgeFilter: "on", LogFormat: "off", Registration: "open",
		RankedMinEvents: 30, RankedMinCategoryEvents: 15, RankedMinDays: 14,
	}}
	set(h.config)
	now := func() time.Time { return h.now }
	h.markets = signal.NewFeed(api.MarketCodec(), now)
	newsFeed := signal.NewFeed(api.NewsCodec(), now)
	h.seed(newsFeed)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	keys := identity.New(identity.Options{Config: h.config, DB: db, Generation: agent.NewGeneration(db.Reader, log), Usage: agent.NewUsage(db, log, now), Log: log, Now: now})
	var reads atomic.Uint64
	thresholds := leaderboard.Thresholds{Events: 30, CategoryEvents: 15, Days: 14}
	site := web.New(web.Dependencies{
		Config: h.config, Version: "0.1.0", DB: db, Now: now, Identity: keys,
		Moderation:  moderation.New(moderation.Options{DB: db, Now: now}),
		Changes:     generation.NewWatcher(db.Reader, nil),
		Groups:      market.NewGroups(func() uint64 { return reads.Add(1) }, now), // as if each read followed a tick
		Leaderboard: leaderboard.NewStore(thresholds, now), Markets: h.markets, News: newsFeed,
		Text: func(name string) ([]byte, error) {
			return []byte("---\nname: x\n---\n\n# " + name + "\n\n```\ncurl x\n```\n"), nil
		},
		Sample: func() bool { return true }, Release: &release.Catalogue{DB: db},
	})
	srv := httpserver.New(httpserver.Options{Config: h.config, Logger: log, Now: now, RenderError: site.RenderError})
	site.Register(srv)
	ln := fasthttputil.NewInmemoryListener()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Start(ctx, ln) }()
	t.Cleanup(func() { cancel(); <-done })
	h.client = &http.Client{
		Transport:     &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return ln.Dial() }},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return h
}

// establish gives the agent settled events, so that it is no longer a newcomer.
func (h *house) establish() {
	h.t.Helper()
	for _, statement := range []string{
		"INSERT INTO agent_days (agent_id, category, day, clusters, cluster_sum) VALUES (?0, '', '2026-01-01', ?1, 0) ON CONFLICT DO NOTHING",
		"UPDATE predictions SET newcomer = FALSE WHERE agent_id = ?0",
		"UPDATE results SET newcomer = FALSE WHERE agent_id = ?0",
	} {
		if _, err := h.db.ExecContext(h.t.Context(), statement, h.agent.ID, settlement.ConsensusEvents); err != nil {
			h.t.Fatal(err)
		}
	}
}

// hostile is text as an attacker would write it.
const hostile = `<script>alert(1)</script> & "both"`

func (h *house) seed(newsFeed *signal.Feed[news.Item]) {
	h.t.Helper()
	yes, volume := 0.4, 5000.0
	markets := []market.Market{
		{ID: "1", Question: "Will it rain in Oslo?", Title: "Will it rain in Oslo?", Category: "weather"},
		{ID: "2", Question: "Will it snow " + hostile, Title: "Will it snow " + hostile, Category: "weather"},
	}
	for i := range markets {
		m := &markets[i]
		m.Source, m.Outcomes, m.Prices = "polymarket", []string{"Yes", "No"}, []float64{0.4, 0.6}
		m.Probability, m.Volume, m.Active, m.ObservedAt, m.ClosesAt = &yes, &volume, true, start, start.Add(72*time.Hour)
	}
	items := []news.Item{{
		ID: "n1", Source: "reddit", Community: "science", Title: hostile, URL: "https://www.example.org/study",
		Permalink: "https://example.org/r/1", PostedAt: start.Add(-time.Hour), ObservedAt: start, ScoreKnown: true, Score: 12,
	}}
	err := h.db.InTx(h.t.Context(), func(ctx context.Context, tx bun.Tx) error {
		if err := (market.Store{}).Observe(ctx, tx, markets); err != nil {
			return err
		}
		if err := (news.Store{}).Observe(ctx, tx, items); err != nil {
			return err
		}
		var err error
		h.agent, err = agent.Store{}.Create(ctx, tx, agent.New{Profile: agent.Profile{Name: "Ada " + hostile, Model: "m-1"}, Handle: "ada", At: start})
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.markets.Publish(signal.Reading[market.Market]{Records: markets, AsOf: start, Source: "polymarket", Interval: time.Minute})
	newsFeed.Publish(signal.Reading[news.Item]{Records: items, AsOf: start, Source: "reddit", Interval: time.Minute})
}

// publish publishes a prediction of ada.
func (h *house) publish(title, marketID string, confidence float64) prediction.Record {
	h.t.Helper()
	var out prediction.Record
	publisher := prediction.NewPublisher(h.db, func() time.Time { return h.now }, 3*time.Minute, base)
	d := prediction.Draft{Title: title, Thesis: "Because " + hostile, Confidence: &confidence, HorizonAt: new(h.now.Add(48 * time.Hour)), MarketID: marketID,
		Evidence: []prediction.Evidence{{Title: "A study", URL: "https://www.example.org/study"}}}
	if wrong := d.Check(h.now); len(wrong) > 0 {
		h.t.Fatal(wrong)
	}
	_, err := publisher.Publish(h.t.Context(), prediction.Submission{Agent: *h.agent, Draft: d, BodyHash: sha256.Sum256([]byte(title)),
		Render: func(r prediction.Receipt) ([]byte, error) { out = r.Record; return nil, nil }})
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

type reply struct {
	status int
	header http.Header
	body   string
	doc    *goquery.Document
}

func (h *house) get(path string) reply { return h.do(http.MethodGet, path, nil, nil) }

func (h *house) do(method, path string, form url.Values, header http.Header) reply {
	h.t.Helper()
	req, err := http.NewRequest(method, base+path, strings.NewReader(form.Encode()))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header = header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := h.client.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	r := reply{status: res.StatusCode, header: res.Header, body: string(body)}
	if r.doc, err = goquery.NewDocumentFromReader(strings.NewReader(r.body)); err != nil {
		h.t.Fatal(err)
	}
	return r
}

// text returns the text of the elements that match a selector, with white space folded.
func (r reply) text(selector string) string {
	return strings.Join(strings.Fields(r.doc.Find(selector).Text()), " ")
}
