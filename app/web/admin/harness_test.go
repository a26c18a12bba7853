package admin_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/uptrace/bun"
	"github.com/valyala/fasthttp/fasthttputil"

	domain "github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/identity"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/monitor"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/app/signal"
	"github.com/pulsecast/pulsecast/app/web/admin"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const (
	base     = "http://pulse.test"
	password = "correct horse battery"
)

// house is the admin pages on a database with an admin, an agent with a key, a closed market
// without a result, and a prediction that is due.
type house struct {
	t          *testing.T
	db         *database.DB
	srv        *httpserver.Server
	dial       func() (net.Conn, error)
	now        time.Time
	config     *config.Config
	agent      *agent.Agent
	key        *agent.Key
	due        prediction.Record
	onMarket   prediction.Record
	usage      *agent.Usage
	ticks      int
	disk       monitor.Disk
	moderation *moderation.Service
}

// adminsURL returns the address of a database with the admins eve and olaf. Tests copy it, because hashing a password
// takes long.
var adminsURL = dbtest.Filled(func(ctx context.Context, db *database.DB) error {
	return db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		_, eve := (domain.Store{}).Create(ctx, tx, audit.Shell, "eve", password, start)
		_, olaf := (domain.Store{}).Create(ctx, tx, audit.Shell, "olaf", password, start)
		return errors.Join(eve, olaf)
	})
})

// each is dbtest.Each with those admins.
func each(t *testing.T, test func(t *testing.T, db *database.DB)) {
	t.Helper()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, dbtest.OpenAt(t, adminsURL(t, kind)))
		})
	}
}

func openSQLite(t *testing.T) *database.DB {
	t.Helper()
	return dbtest.OpenAt(t, adminsURL(t, database.SQLite))
}

func open(t *testing.T, db *database.DB) *house {
	t.Helper()
	return openAt(t, db, base)
}

func openAt(t *testing.T, db *database.DB, address string) *house {
	t.Helper()
	return openWith(t, db, address, nil)
}

// openWith opens a house with some settings changed.
func openWith(t *testing.T, db *database.DB, address string, change func(*config.Config)) *house {
	t.Helper()
	cfg := config.Default()
	cfg.BaseURL, cfg.LogFormat, cfg.Drain, cfg.IdentityClientSecret = address, "off", 0, "very-secret"
	cfg.RedisURL = "redis://someone:hidden-word@cache.test:6379"
	if change != nil {
		change(&cfg)
	}
	h := &house{t: t, db: db, now: start, config: &cfg, disk: monitor.Disk{Free: 1 << 40, Size: 1 << 41}}
	now := func() time.Time { return h.now }
	log := slog.New(slog.DiscardHandler)
	h.usage = agent.NewUsage(db, log, now)
	h.seed()
	keys := identity.New(identity.Options{Config: h.config, DB: db, Generation: agent.NewGeneration(db.Reader, log), Usage: agent.NewUsage(db, log, now), Log: log, Now: now})
	rulings := settlement.New(settlement.Options{DB: db, Interval: time.Minute, Now: now})
	h.moderation = moderation.New(moderation.Options{DB: db, Now: now, Log: log, Settlement: rulings, IdentityURL: cfg.IdentityURL})
	site := admin.New(admin.Dependencies{
		Config: h.config, Version: "0.1.0", DB: db, Now: now, Log: log, Usage: h.usage,
		Settlement: rulings, Moderation: h.moderation, CacheKind: "memory", PingCache: func(context.Context) error { return nil },
		People: keys.People(), Holder: "me", Sample: func() bool { return false },
		Monitor: h.monitor(),
		Tick: map[string]func(context.Context) (time.Duration, error){
			"markets": func(context.Context) (time.Duration, error) { h.ticks++; return 0, nil },
		},
	})
	h.srv = httpserver.New(httpserver.Options{Config: h.config, Logger: log, Now: now})
	site.Register(h.srv)
	ln := fasthttputil.NewInmemoryListener()
	h.dial = ln.Dial
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.srv.Start(ctx, ln) }()
	t.Cleanup(func() { cancel(); <-done })
	return h
}

func (h *house) monitor() *monitor.Monitor {
	return monitor.New(monitor.Options{DB: h.db, Now: func() time.Time { return h.now }, Feeds: []monitor.Snapshots{h}, BackupEvery: h.config.BackupEvery, Archived: h.config.ArchiveURL != archive.Off, Disk: func() (monitor.Disk, error) { return h.disk, nil }})
}

// Status returns the status of the markets feed.
func (h *house) Status() signal.Status {
	return signal.Status{Name: "markets", AsOf: h.now, Records: 1}
}

func (h *house) tx(run func(ctx context.Context, tx bun.Tx) error) {
	h.t.Helper()
	if err := h.db.InTx(h.t.Context(), run); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) seed() {
	h.t.Helper()
	half := 0.5
	m := market.Market{ID: "1", Source: "polymarket", Question: "Will it rain in Oslo?", Title: "Will it rain in Oslo?", Outcomes: []string{"Yes", "No"},
		Prices: []float64{0.5, 0.5}, Probability: &half, Active: true, ObservedAt: start.Add(-time.Hour), ClosesAt: start.Add(24 * time.Hour)}
	h.tx(func(ctx context.Context, tx bun.Tx) (err error) {
		if h.agent, err = (agent.Store{}).Create(ctx, tx, agent.New{Profile: agent.Profile{Name: "=Ada"}, Handle: "ada", At: start}); err != nil {
			return err
		}
		if _, h.key, err = (agent.Store{}).IssueKey(ctx, tx, h.agent.ID, "first", start); err != nil {
			return err
		}
		return market.Store{}.Observe(ctx, tx, []market.Market{m})
	})
	h.now = start.Add(-50 * time.Minute)
	h.due = h.publish("Will the barometer fall?", "")
	h.onMarket = h.publish("Will it rain?", "1")
	h.now = start
	m.Closed, m.Active, m.ClosedAt, m.ObservedAt, m.Resolution = true, false, start.Add(-10*time.Minute), start, "proposed"
	h.tx(func(ctx context.Context, tx bun.Tx) error { return market.Store{}.Observe(ctx, tx, []market.Market{m}) })
}

func (h *house) publish(title, marketID string) (out prediction.Record) {
	h.t.Helper()
	confidence := 0.8
	publisher := prediction.NewPublisher(h.db, func() time.Time { return h.now }, 3*time.Hour, base)
	d := prediction.Draft{Title: title, Thesis: "Because.", Confidence: &confidence, HorizonAt: new(h.now.Add(30 * time.Minute)), MarketID: marketID}
	if wrong := d.Check(h.now); len(wrong) > 0 {
		h.t.Fatal(wrong)
	}
	_, err := publisher.Publish(h.t.Context(), prediction.Submission{Agent: *h.agent, Draft: d, Render: func(r prediction.Receipt) ([]byte, error) { out = r.Record; return nil, nil }})
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

// browser is one person's browser. It keeps cookies and doesn't follow redirects.
type browser struct {
	h      *house
	client *http.Client
	header http.Header
}

func (h *house) browser() *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return &browser{h: h, header: http.Header{}, client: &http.Client{Jar: jar,
		Transport:     &http.Transport{DisableKeepAlives: true, DialContext: h.reach},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// reach sends requests to the house, and to an identity provider on this machine.
func (h *house) reach(ctx context.Context, network, address string) (net.Conn, error) {
	if strings.HasPrefix(address, "127.0.0.1:") {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	return h.dial()
}

// signedIn returns a browser that is signed in.
func (h *house) signedIn(name string) *browser {
	h.t.Helper()
	b := h.browser()
	if r := b.signIn(name, password); r.status != 303 {
		h.t.Fatalf("sign-in: %d %s", r.status, r.text("main"))
	}
	return b
}

func (b *browser) signIn(name, password string) reply {
	b.h.t.Helper()
	csrf := b.get("/admin/sign-in").value("csrf")
	return b.do(http.MethodPost, "/admin/sign-in", url.Values{"name": {name}, "password": {password}, "csrf": {csrf}})
}

type reply struct {
	status int
	header http.Header
	body   string
	doc    *goquery.Document
}

func (b *browser) get(path string) reply { return b.do(http.MethodGet, path, nil) }

// post sends the form on a page that has this action, with some fields set.
func (b *browser) post(page, action string, fields url.Values) reply {
	b.h.t.Helper()
	form := b.get(page).doc.Find(`form[method="post"][action="` + action + `"]`).First()
	if form.Length() == 0 {
		b.h.t.Fatalf("%s has no form for %s", page, action)
	}
	values := url.Values{}
	form.Find("input[name], textarea[name], select[name]").Each(func(_ int, s *goquery.Selection) {
		name, _ := s.Attr("name")
		value, _ := s.Attr("value")
		if _, checked := s.Attr("checked"); checked || !s.Is("[type=checkbox]") {
			values.Set(name, value)
		}
	})
	for name, value := range fields {
		values[name] = value
	}
	return b.do(http.MethodPost, action, values)
}

func (b *browser) do(method, path string, form url.Values) reply {
	b.h.t.Helper()
	if strings.HasPrefix(path, "/") {
		path = base + path
	}
	req, err := http.NewRequest(method, path, strings.NewReader(form.Encode()))
	if err != nil {
		b.h.t.Fatal(err)
	}
	req.Header = b.header.Clone()
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := b.client.Do(req)
	if err != nil {
		b.h.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.h.t.Fatal(err)
	}
	r := reply{status: res.StatusCode, header: res.Header, body: string(body)}
	if r.doc, err = goquery.NewDocumentFromReader(strings.NewReader(r.body)); err != nil {
		b.h.t.Fatal(err)
	}
	return r
}

// text returns the text of the elements that match a selector, with white space folded.
func (r reply) text(selector string) string {
	return strings.Join(strings.Fields(r.doc.Find(selector).Text()), " ")
}

// value returns the value of the first field with a name.
func (r reply) value(name string) string {
	v, _ := r.doc.Find(`[name="` + name + `"]`).First().Attr("value")
	return v
}
