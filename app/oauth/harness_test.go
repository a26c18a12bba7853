package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/uptrace/bun"
	"golang.org/x/oauth2"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// service is the whole app on a loopback port, with one agent.
type service struct {
	*app.App
	t     *testing.T
	base  string
	agent *agent.Agent
	key   string
	later atomic.Int64 // nanoseconds that the clock is ahead
	docs  *documents
}

// each runs a test against the whole app on both databases.
func each(t *testing.T, test func(t *testing.T, s *service), change ...func(*config.Config)) {
	t.Helper()
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, start(t, kind, change...))
		})
	}
}

func start(t *testing.T, kind database.Kind, change ...func(*config.Config)) *service {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Drain = 0
	cfg.Addr, cfg.DatabaseURL, cfg.LogFormat, cfg.Registration = ln.Addr().String(), dbtest.URL(t, kind), "off", "open"
	cfg.RateLimitReads, cfg.RateLimitWrites, cfg.RateLimitFailures, cfg.RateLimitSnapshot = config.Rate{}, config.Rate{}, config.Rate{}, config.Rate{}
	cfg.RateLimitReadsAddress, cfg.RateLimitWritesAddress = config.Rate{}, config.Rate{}
	cfg.RegistrationRate, cfg.RegistrationCeiling = config.Rate{}, config.Rate{}
	for _, c := range change {
		c(&cfg)
	}
	s := &service{t: t, base: "http://" + cfg.Addr, docs: &documents{bodies: map[string]string{}}}
	now := func() time.Time { return time.Now().Add(time.Duration(s.later.Load())) }
	if s.App, err = app.New(t.Context(), cfg, app.Options{Now: now, ClientDocuments: s.docs}); err != nil {
		t.Fatal(errors.Join(err, ln.Close()))
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, s.Close()); err != nil {
			t.Error(err)
		}
	})
	s.agent, s.key = s.newAgent("Ada")
	return s
}

func (s *service) newAgent(name string) (a *agent.Agent, key string) {
	s.t.Helper()
	s.inTx(func(ctx context.Context, tx bun.Tx) (err error) {
		if a, err = (agent.Store{}).Create(ctx, tx, agent.New{Profile: agent.Profile{Name: name}, At: time.Now()}); err == nil {
			key, _, err = agent.Store{}.IssueKey(ctx, tx, a.ID, "test", time.Now())
		}
		return err
	})
	return a, key
}

func (s *service) inTx(do func(ctx context.Context, tx bun.Tx) error) {
	s.t.Helper()
	if err := s.DB.InTx(s.t.Context(), do); err != nil {
		s.t.Fatal(err)
	}
}

// documents answers for the hosts of clients, and counts the requests.
type documents struct {
	mu     sync.Mutex
	bodies map[string]string
	asked  int

	toHold int // how many requests wait for answer, after they have sent to begun
	begun  chan struct{}
	answer chan struct{}
}

// hold lets each of the next n requests send to begun and then wait until release is called.
func (d *documents) hold(n int) (begun <-chan struct{}, release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.toHold, d.begun, d.answer = n, make(chan struct{}), make(chan struct{})
	return d.begun, sync.OnceFunc(func() { close(d.answer) })
}

func (d *documents) wait() {
	d.mu.Lock()
	held := d.toHold > 0
	d.toHold--
	d.mu.Unlock()
	if held {
		d.begun <- struct{}{}
		<-d.answer
	}
}

func (d *documents) put(address, body string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bodies[address] = body
}

// RoundTrip implements http.RoundTripper.
func (d *documents) RoundTrip(r *http.Request) (*http.Response, error) {
	d.wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	body, ok := d.bodies[r.URL.String()]
	status := map[bool]int{true: 200, false: 404}[ok]
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// program is an OAuth client, registered at the service.
type program struct {
	*service
	oauth2.Config
	verifier string
	resource string
}

const callback = "http://127.0.0.1:1/callback"

// register registers a program.
func (s *service) register() *program {
	s.t.Helper()
	res := s.post("/oauth/register", "application/json", `{"client_name":"A program","redirect_uris":["`+callback+`"]}`)
	var made struct {
		ID string `json:"client_id"`
	}
	if err := json.Unmarshal(res.body, &made); err != nil || res.status != 201 {
		s.t.Fatalf("register: %d %s", res.status, res.body)
	}
	return s.program(made.ID, callback)
}

func (s *service) program(id, redirect string) *program {
	return &program{service: s, verifier: oauth2.GenerateVerifier(), resource: s.base + "/mcp", Config: oauth2.Config{
		ClientID: id, RedirectURL: redirect, Scopes: []string{"read", "publish"}, Endpoint: oauth2.Endpoint{
			AuthURL: s.base + "/oauth/authorize", TokenURL: s.base + "/oauth/token", AuthStyle: oauth2.AuthStyleInParams,
		},
	}}
}

// address returns the address that begins a sign-in. change sets parameters. An empty value leaves a
// parameter out.
func (p *program) address(change ...string) string {
	u, _ := url.Parse(p.AuthCodeURL("a-state", oauth2.S256ChallengeOption(p.verifier), oauth2.SetAuthURLParam("resource", p.resource)))
	query := u.Query()
	for i := 0; i < len(change); i += 2 {
		if query.Set(change[i], change[i+1]); change[i+1] == "" {
			query.Del(change[i])
		}
	}
	u.RawQuery = query.Encode()
	return u.String()
}

func (p *program) exchange(code string) (*oauth2.Token, error) {
	return p.Exchange(p.t.Context(), code, oauth2.VerifierOption(p.verifier), oauth2.SetAuthURLParam("resource", p.resource))
}

// signIn does the whole flow with a person who allows everything.
func (p *program) signIn() *oauth2.Token {
	p.t.Helper()
	token, err := p.exchange(p.allow(p.address(), p.key))
	if err != nil {
		p.t.Fatal(err)
	}
	return token
}

// renew uses a refresh token once.
func (p *program) renew(refresh string) (*oauth2.Token, error) {
	return p.TokenSource(p.t.Context(), &oauth2.Token{RefreshToken: refresh}).Token()
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

func (s *service) do(method, address, contentType, body string, header ...string) reply {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("User-Agent", "test/1.0")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := browser.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, raw}
}

func (s *service) post(path, contentType, body string) reply {
	s.t.Helper()
	return s.do("POST", s.base+path, contentType, body)
}

// call calls the API with a bearer.
func (s *service) call(method, path, bearer, body string) (status int, code string) {
	s.t.Helper()
	res := s.do(method, s.base+path, "application/json", body, "Authorization", "Bearer "+bearer)
	var answer struct{ Code string }
	if err := json.Unmarshal(res.body, &answer); err != nil {
		s.t.Fatalf("%s %s: %d %s", method, path, res.status, res.body)
	}
	return res.status, answer.Code
}

// page requests the consent page like a browser, and returns the form with the given button.
func (s *service) page(raw []byte, button string) url.Values {
	s.t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(string(raw)))
	if err != nil {
		s.t.Fatal(err)
	}
	form := url.Values{}
	doc.Find("form:has(button[value=" + button + "]) input").Each(func(_ int, in *goquery.Selection) {
		if _, checked := in.Attr("checked"); in.AttrOr("type", "") == "checkbox" && !checked {
			return
		}
		form.Add(in.AttrOr("name", ""), in.AttrOr("value", ""))
	})
	if len(form) == 0 {
		s.t.Fatalf("no form with %s in %s", button, raw)
	}
	form.Set("do", button)
	return form
}

// open shows the consent page.
func (s *service) open(address string) []byte {
	s.t.Helper()
	res := s.do("GET", address, "", "")
	if res.status != 200 {
		s.t.Fatalf("consent page: %d %s %s", res.status, res.header.Get("Location"), res.body)
	}
	return res.body
}

// send sends a form of the consent page.
func (s *service) send(form url.Values, header ...string) reply {
	s.t.Helper()
	return s.do("POST", s.base+"/oauth/authorize", "application/x-www-form-urlencoded", form.Encode(), append([]string{"Origin", s.base}, header...)...)
}

// allow lets a person allow a request with a key, and returns the code.
func (s *service) allow(address, key string, without ...string) string {
	s.t.Helper()
	form := s.page(s.open(address), "allow")
	form.Set("key", key)
	for _, field := range without {
		form.Del(field)
	}
	res := s.send(form)
	to, err := url.Parse(res.header.Get("Location"))
	if err != nil || res.status != 303 || to.Query().Get("code") == "" {
		s.t.Fatalf("allow: %d %s\n%s", res.status, res.header.Get("Location"), res.body)
	}
	return to.Query().Get("code")
}

func published(title string) string {
	return fmt.Sprintf(`{"title":%q,"thesis":"t","confidence":0.5,"horizonAt":%q}`, title, time.Now().AddDate(0, 1, 0).UTC().Format(time.RFC3339))
}
