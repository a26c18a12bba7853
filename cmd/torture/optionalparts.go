package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// takeOptionalParts takes the optional parts away from a node: the pooler before its Postgres, the replica, and the store of
// the archive. A broken build of one part meets only the outages of that part.
func takeOptionalParts(l *lab) {
	db, s := l.postgres(), l.sources()
	s.SetMarket("m", nil)
	day := archive.DayOf(time.Now().AddDate(0, 0, -archivedDaysAgo))
	l.must(l.observe(db.url, day))
	replica := db.server.StartReplica(l, "max_connections=120") // not below the primary's, or it doesn't start
	metrics, err := run.FreeAddress()
	l.must(err)
	address := db.url
	pooler, pooled, poolerErr := l.pooler(db.server)
	if poolerErr == nil {
		address = pooled
	}
	env := append(l.environment(address, s, countingLimits...), "METRICS_ADDR="+metrics,
		"DATABASE_REPLICA_URL="+replica.URL("postgres"), "REPLICA_MAX_LAG="+replicaMaxLag.String())
	store, settings, storeErr := l.bucket()
	n := l.serve(append(env, settings...))
	w := l.authors(n.base, 1)[0]
	search := probe{
		name: "a search", path: "/api/predictions?q=", needs: []string{"database"}, kept: true, // marked if read from the replica
		query: func(t *outages) string { return fmt.Sprintf("word%d", t.serial.Add(1)) },
	}
	t := &outages{lab: l, probes: append(slices.Clone(probes), search), base: n.base, key: w.key, store: db.url}
	if storeErr == nil {
		t.beside = archiveProbes(day)
	}
	t.begin()
	f := &following{outages: t, author: w, metrics: "http://" + metrics + "/metrics"}
	f.untilReplica("at the start")
	list := append(f.poolerOutages(pooler, poolerErr), f.replicaOutages(replica)...)
	list = append(list, t.storeOutages(store, storeErr)...)
	for _, o := range list {
		if l.briefly() && o.long {
			l.note("The short form leaves out: %s.", o.name)
			continue
		}
		t.suffer(o)
		if l.ended(o.name, pooler) || l.ended(o.name, store) {
			return // every later outage would blame the wrong part
		}
		if o.part == "database" || o.part == "replica" {
			f.untilReplica(o.name)
		}
		if l.caught() {
			return
		}
	}
}

// briefly reports whether only the outages that aren't long are tried. Broken builds meet them all.
func (l *lab) briefly() bool { return l.build.broken == nil && l.Outage < staleLimit/3 }

// untried notes that a part isn't taken away, and why.
func (l *lab) untried(what string, cause error) {
	l.Logf("optional parts: NOT TRIED: %s: %v", what, cause)
	reason, _, _ := strings.Cut(cause.Error(), "\n")
	l.note("**Not tried: %s.** What they need is missing on this machine: %s", what, clipped(reason))
}

// ended reports whether a daemon ended without being told to. That is a fault, because a node must not be able to end
// one. d may be nil.
func (l *lab) ended(when string, d *daemon) bool {
	if d == nil {
		return false
	}
	select {
	case <-d.Ended:
		l.fault("%s: %s ended by itself: %s", when, d.Name, run.LastLines(d.Log(), 1))
		return true
	default:
		return false
	}
}

// poolerOutages are outages of PgBouncer. They take the primary away from the node, but not the replica.
func (f *following) poolerOutages(pooler *daemon, missing error) []outage {
	if missing != nil {
		f.untried("outages of a pooler", missing)
		return nil
	}
	return []outage{
		f.onReplica(outage{name: "the pooler killed", part: "database", away: pooler.Kill, back: pooler.start}),
		f.onReplica(outage{name: "the pooler frozen", part: "database", away: pooler.freeze, back: pooler.thaw, long: true}),
	}
}

// onReplica makes an outage of the primary last until reads go on without it.
func (f *following) onReplica(o outage) outage {
	o.shows, o.effect = func() bool { return f.reads().replica > f.before.replica }, "public reads go to the replica"
	return f.begun(o)
}

// begun makes an outage note the reads before it.
func (f *following) begun(o outage) outage {
	away := o.away
	o.away = func() {
		away()
		f.before, f.moved, f.published = f.reads(), false, nil
	}
	return o
}

const (
	// replicaMaxLag is the REPLICA_MAX_LAG of the node, and visitorLag is by how much a visitor may lag. It is longer,
	// because a read that has begun on the replica ends there.
	replicaMaxLag = time.Second
	visitorLag    = 2 * replicaMaxLag
	// replicaReturn is the longest time until public reads go to the replica again. A killed replica first recovers.
	replicaReturn = 5 * time.Second
)

// replicaOutages are outages of the replica. They refuse no request.
func (f *following) replicaOutages(replica *dbtest.Postgres) []outage {
	list := []outage{
		{name: "the replica killed", away: func() { replica.Stop(dbtest.Kill) }, back: replica.Start},
		{name: "the replica frozen", away: replica.Freeze, back: replica.Thaw, long: true},
		{
			name: "the replica paused, so that it lags", long: true,
			away: func() { f.control(replica, "SELECT pg_wal_replay_pause()") },
			back: func() { f.control(replica, "SELECT pg_wal_replay_resume()") },
		},
	}
	for i, o := range list {
		o.part, o.shows, o.effect = "replica", f.onPrimary, "all public reads go to the primary"
		o.each = func(answers map[string]answer) { f.readBack(o.name, answers["publish"]) }
		list[i] = f.begun(o)
	}
	return list
}

// control runs a statement on the replica itself.
func (f *following) control(replica *dbtest.Postgres, statement string) {
	conn, err := pgx.Connect(f.ctx, replica.URL("postgres"))
	f.must(err)
	_, err = conn.Exec(f.ctx, statement)
	f.must(err)
	f.must(conn.Close(f.ctx))
}

// following watches a node with a replica.
type following struct {
	*outages
	author    *author
	metrics   string // the address of the node's metrics
	before    publicReads
	moved     bool // whether the node has given up the replica
	published []published
}

// publicReads are the public reads that a node has begun on each server. serves is 1 while it lets them go to the
// replica.
type publicReads struct{ primary, replica, serves int }

// published is a prediction with the time at which it was acknowledged.
type published struct {
	id string
	at time.Time
}

// reads returns the node's own counts of public reads.
func (f *following) reads() (n publicReads) {
	a := send(f.ctx, request{url: f.metrics})
	const reads = "pulsecast_public_reads_total{server=%q} "
	for name, value := range map[string]*int{
		fmt.Sprintf(reads, "primary"): &n.primary, fmt.Sprintf(reads, "replica"): &n.replica, "pulsecast_replica_serves ": &n.serves,
	} {
		if !a.metric(name, value) {
			f.Fatalf("the metrics don't have %s: %s", name, a)
		}
	}
	return n
}

// onPrimary reports whether the node has given up the replica, and a whole round of probes since then has read from
// the primary. No read may go to the replica after that until the outage ends.
func (f *following) onPrimary() bool {
	before, given := f.before, f.moved
	f.before = f.reads()
	f.moved = given || f.before.serves == 0
	if late := f.before.replica - before.replica; given && late > 0 {
		f.fault("%d public reads went to a replica that the node had given up", late)
	}
	return given && f.before.primary > before.primary
}

// untilReplica waits until public reads go to the replica.
func (f *following) untilReplica(after string) {
	took, ok := f.eventually(f.patience(replicaReturn), func() bool {
		before := f.reads()
		f.ask(f.probes)
		return f.reads().replica > before.replica
	})
	if !ok {
		f.fault("%s: public reads don't go to the replica after %s", after, took.Round(time.Millisecond))
	}
	f.longest("longest time until reads go to the replica again", took)
}

// readBack reads a prediction that was just acknowledged as its author, who must see it, and as a visitor, who may lag
// a little.
func (f *following) readBack(when string, a answer) {
	var made struct{ Prediction struct{ ID string } }
	if a.status != 200 || a.decode(&made) != nil {
		return // the probe itself is a fault
	}
	f.published = append(f.published, published{made.Prediction.ID, time.Now()})
	if !readsOwn(f.lab, f.base, f.author, made.Prediction.ID, new(atomic.Bool)) {
		f.fault("%s: the author can't read its own prediction", when)
	}
	f.count("own predictions read at once", 1)
	asked := time.Now()
	// The author has just made a copy of the list with one prediction.
	a = send(f.ctx, request{url: f.base + "/api/predictions?limit=2&agent=" + f.author.handle})
	var list struct{ Predictions []struct{ ID string } }
	if a.status != 200 || a.decode(&list) != nil {
		f.fault("%s: a visitor reads the predictions of an agent: %s", when, a)
		return
	}
	newest := -1
	if len(list.Predictions) > 0 {
		newest = slices.IndexFunc(f.published, func(p published) bool { return p.id == list.Predictions[0].ID })
	}
	if unseen := newest + 1; unseen < len(f.published) {
		lag := asked.Sub(f.published[unseen].at)
		f.longest("longest time for which a visitor didn't see a prediction", lag)
		if lag > f.patience(visitorLag) {
			f.fault("%s: a visitor doesn't see a prediction after %s", when, lag.Round(time.Millisecond))
		}
	}
}

const (
	// archivedDaysAgo is how many days ago the price in the archive was observed. The database keeps each price for
	// two days.
	archivedDaysAgo = 5
	// archiveClients is how many clients send each probe of the archive during an outage. Together they are more than
	// the node has places for answers from the archive.
	archiveClients = 4
	// archiveLimit bounds an answer that needs the archive. The node gives an object two seconds to open and three for a
	// read.
	archiveLimit = 5500 * time.Millisecond
	// gaveUpAfter is longer than a request waits for a place.
	gaveUpAfter = 1500 * time.Millisecond
)

// observe stores a price of an earlier day. The node seals that day, and those since, after its start.
func (l *lab) observe(address, day string) error {
	db, err := database.Open(l.ctx, address)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.Migrate(l.ctx); err != nil {
		return err
	}
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return err
	}
	at = at.Add(12 * time.Hour)
	row := archive.PriceRow{Market: "m", Observed: archive.Observed{ObservedAt: at, Source: "polymarket"}, Prices: []float64{0.4, 0.6}}
	return archive.Append(l.ctx, db, archive.Prices, []archive.PriceRow{row}, at)
}

// archiveProbes read the archive.
func archiveProbes(day string) []probe {
	needs := []string{"database", "archive"}
	return []probe{
		{name: "data", path: "/api/data", kept: true, needs: needs},
		{name: "the data page", path: "/data", kept: true, page: true, needs: needs},
		{name: "a file of the archive", path: "/api/data/days/" + day + "/manifest.json", needs: needs},
		// Each request asks for another period, so no copy is kept.
		{name: "prices of a sealed day", path: "/api/intelligence/markets/m/prices?from=" + day + "T00:00:00Z&to=" + day, needs: needs,
			query: func(t *outages) string { return fmt.Sprintf("T13:00:00.%06dZ", t.serial.Add(1)) }},
	}
}

// storeOutages are outages of the store of the archive.
func (t *outages) storeOutages(store *daemon, missing error) []outage {
	if missing != nil {
		t.untried("outages of the store of an archive", missing)
		return nil
	}
	return []outage{
		{name: "the archive's store killed", part: "archive", away: store.Kill, back: store.start, blind: !t.briefly()},
		{
			name: "the archive's store frozen", part: "archive", back: store.thaw, long: true,
			away:  func() { t.gaveUp.Store(false); store.freeze() },
			shows: t.gaveUp.Load, effect: "the node gives up waiting for the archive",
		},
	}
}

// sendBeside sends the probes that need the missing archive, from several clients each, until it comes back. The
// function that it returns waits for the last answers.
func (t *outages) sendBeside(w *watch) (wait func()) {
	var all sync.WaitGroup
	if w.outage.part != "archive" {
		return all.Wait
	}
	for i, p := range t.beside {
		for j := range archiveClients {
			all.Go(func() {
				for !w.over.Load() && t.ctx.Err() == nil {
					t.seeBeside(w, &p, t.send(&p, fmt.Sprintf("203.0.113.%d", i*archiveClients+j+1)))
					time.Sleep(20 * time.Millisecond)
				}
			})
		}
	}
	return all.Wait
}

// seeBeside judges the answer to a probe of the archive.
func (t *outages) seeBeside(w *watch, p *probe, a answer) {
	o := w.outage
	w.see(p, a)
	t.count(fmt.Sprintf("requests to the archive answered %d, %s", a.status, o.name), 1)
	t.longest("longest answer from the archive, "+o.name, a.took)
	if a.stale() {
		t.count("stale copies, marked", 1)
	}
	if a.took > gaveUpAfter && a.status == 503 {
		t.gaveUp.Store(true)
	}
	if a.took > t.patience(archiveLimit) {
		t.fault("%s: %s is answered too late: %s", o.name, p.name, a)
	}
	if a.status == 200 && !p.kept && !w.over.Load() {
		t.Errorf("%s: %s is answered, so nothing was missing: %s", o.name, p.name, a)
	}
}
