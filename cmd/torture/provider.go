package main

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/identity/identitytest"
	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

const (
	// newKeyExtra is by how much longer than answerLimit a request waits for an identity provider that hangs. The
	// node gives up the provider after 1.8 s.
	newKeyExtra = time.Second
	// providerRest is by how much longer than returnLimit the node leaves a failing identity provider alone. It
	// tries the provider again every 2 s.
	providerRest = 2 * time.Second
)

// providerProbes are sent to a node with an identity provider. Only a key that is new to the node needs the provider.
// The owner of a key is known for a minute, and the node issues the session tokens itself.
var providerProbes = append([]probe{
	{name: "stats with a new key", path: "/api/stats", bearer: (*outages).newKey, needs: []string{"database", "provider"}, longer: newKeyExtra},
	{name: "stats with a session", path: "/api/stats", bearer: func(t *outages) string { return t.session }, needs: []string{"database"}},
}, probes...)

// newKey returns a key of the identity provider that the node hasn't seen.
func (t *outages) newKey() string { return fmt.Sprintf("torture-%d", t.newKeys.Add(1)) }

// takeFromSQLite takes parts away from a node on SQLite with an identity provider.
func takeFromSQLite(l *lab) {
	db, s, p := l.sqlite(), l.sources(), l.provider()
	disk, diskErr := dbtest.MountDisk(l, fullDisk)
	if diskErr == nil {
		db.url = "sqlite://" + filepath.Join(disk.Dir, "pulsecast.db")
	}
	s.SetMarket("m", nil)
	n := l.serve(append(l.environment(db.url, s, countingLimits...), p.settings()...))
	t := &outages{lab: l, probes: providerProbes, base: n.base}
	t.signIn()
	t.begin()
	list := []outage{
		{name: "the identity provider hanging", part: "provider", away: p.hang, back: p.answer, rest: providerRest},
		{name: "the identity provider gone", part: "provider", away: p.leave, back: p.listen, rest: providerRest},
		l.lockedSQLite(db.url),
	}
	if diskErr == nil {
		list = append(list, outage{name: "the disk of SQLite full", part: "writes", away: func() { disk.Fill(); t.useUp() }, back: disk.Free})
	} else {
		l.Logf("outages: NOT TRIED: a full disk of SQLite: %v", diskErr)
		l.note("**Not tried: a full disk of SQLite.** This account may not mount a file system. Run the command as root.")
	}
	for _, o := range list {
		t.signIn()
		if t.suffer(o); l.caught() {
			return
		}
	}
	n.Stop()
}

// signIn makes the node check a new key, and begins a session with it.
func (t *outages) signIn() {
	t.key = t.newKey()
	a := send(t.ctx, request{method: http.MethodPost, url: t.base + "/api/session", body: map[string]any{"apiKey": t.key}})
	var begun struct{ Session struct{ Token string } }
	if err := a.decode(&begun); err != nil || begun.Session.Token == "" {
		t.Fatalf("begin a session with a key of the provider: %s", a)
	}
	t.session = begun.Session.Token
}

// useUp publishes until the database is full. The file of its write-ahead log has room for some writes.
func (t *outages) useUp() {
	var list []any
	for range batchSize {
		list = append(list, publishBody(""))
	}
	r := request{method: http.MethodPost, url: t.base + "/api/predictions/batch", key: t.key, body: map[string]any{"predictions": list}}
	if took, ok := t.eventually(time.Minute, func() bool { return send(t.ctx, r).status == http.StatusServiceUnavailable }); !ok {
		t.Fatalf("publishing goes on %s after the disk of SQLite was filled", took)
	}
}

// lockedSQLite returns an outage in which another process keeps the write lock of the database.
func (l *lab) lockedSQLite(address string) outage {
	var db *database.DB
	var lock bun.Tx
	return outage{name: "SQLite locked by another process", part: "writes", away: func() {
		var err error
		db, err = database.Open(l.ctx, address)
		l.must(err)
		lock, err = db.BeginTx(l.ctx, nil)
		l.must(err)
	}, back: func() {
		l.must(lock.Rollback())
		l.must(db.Close())
	}}
}

// provider stands in for the identity provider. It accepts every key, as one of the same agent.
type provider struct {
	lab     *lab
	address string
	handler http.Handler
	server  *http.Server

	mu      sync.Mutex
	answers chan struct{} // closed unless it hangs
}

// providerScope is the scope of the provider's keys.
const providerScope = "forecasts"

func (l *lab) provider() *provider {
	address, err := run.FreeAddress()
	l.must(err)
	inner := identitytest.New(l, time.Now)
	p := &provider{lab: l, address: address, handler: inner.Config.Handler, answers: make(chan struct{})}
	inner.Lie(identitytest.Lies{
		Says: identitytest.Claims{"active": true, "sub": "torture", "scope": providerScope},
		Document: func(doc identitytest.Claims) {
			for name, value := range doc {
				if text, ok := value.(string); ok {
					doc[name] = strings.Replace(text, inner.URL, p.url(), 1)
				}
			}
		},
	})
	close(p.answers)
	p.listen()
	l.Cleanup(func() { p.server.Close() })
	return p
}

func (p *provider) url() string { return "http://" + p.address }

// settings returns the settings of a node that uses the provider.
func (p *provider) settings() []string {
	return []string{
		"IDENTITY_URL=" + p.url(), "IDENTITY_SCOPE=" + providerScope,
		"IDENTITY_CLIENT_ID=" + identitytest.ClientID, "IDENTITY_CLIENT_SECRET=" + identitytest.ClientSecret,
	}
}

// ServeHTTP answers a request, once the provider doesn't hang.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	answers := p.answers
	p.mu.Unlock()
	select {
	case <-answers:
		p.handler.ServeHTTP(w, r)
	case <-r.Context().Done():
	}
}

// hang makes the provider accept requests and not answer them.
func (p *provider) hang() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers = make(chan struct{})
}

// answer ends what hang began. The waiting requests are answered too.
func (p *provider) answer() { close(p.answers) }

// leave closes the provider's port and all connections.
func (p *provider) leave() { p.lab.must(p.server.Close()) }

// listen opens the port.
func (p *provider) listen() {
	listener, err := net.Listen("tcp", p.address)
	p.lab.must(err)
	p.server = &http.Server{Handler: p}
	go p.server.Serve(listener)
}
