package main

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// stage is a node, a crowd that publishes on it, and markets that close one after another. Kills
// therefore also hit readings, baselines and settlements.
type stage struct {
	*crowd
	lab     *lab
	node    *node
	sources *sources
	market  atomic.Int64 // index of the market that is published on
	markets int
	closed  int // number of closed markets
}

// authorsAtOnce is the number of authors that publish at the same time.
const authorsAtOnce = 8

// stage starts a node on a database, its sources and its authors, and lets the authors publish.
func (l *lab) stage(db store, markets int, expected func(answer) bool) *stage {
	s := &stage{lab: l, sources: l.sources(), markets: markets}
	for i := range markets {
		s.sources.SetMarket(s.name(i), nil)
	}
	s.node = l.serve(l.environment(db.url, s.sources, unlimited...))
	s.know(markets)
	s.crowd = &crowd{
		lab: l, authors: l.authors(s.node.base, authorsAtOnce), base: func() string { return s.node.base },
		market: func() string { return s.name(int(s.market.Load())) }, expected: expected,
	}
	s.crowd.start()
	return s
}

func (s *stage) name(i int) string { return fmt.Sprint("market-", i) }

// know waits until the service knows the markets.
func (s *stage) know(markets int) {
	took, ok := s.lab.eventually(time.Minute, func() bool {
		var list struct{ Markets []struct{ ID string } }
		return send(s.lab.ctx, request{url: s.node.base + "/api/intelligence/markets?limit=100"}).decode(&list) == nil &&
			len(list.Markets) >= min(markets, 100)
	})
	if !ok {
		s.lab.Fatalf("the node hasn't read the markets after %s", took)
	}
}

// advance chooses the market to publish on by the share of the work that is done. It closes the
// markets before the one that it chose last time.
func (s *stage) advance(done, of int) {
	for ; s.closed < int(s.market.Load()); s.closed++ {
		s.sources.settle(s.name(s.closed))
	}
	s.market.Store(int64(min(done*s.markets/of, s.markets-1)))
}

// finish stops the authors and closes every market. Once everything is settled, it compares the
// ledger with its rebuild.
func (s *stage) finish() {
	s.end()
	s.compare()
	for ; s.closed < s.markets; s.closed++ {
		s.sources.settle(s.name(s.closed))
	}
	for _, w := range s.authors {
		open := -1
		_, ok := s.lab.eventually(s.lab.patience(2*time.Minute), func() bool {
			var stats struct {
				Stats struct{ Predictions struct{ Open int } }
			}
			open = -1
			if send(s.lab.ctx, request{url: s.node.base + "/api/stats", key: w.key}).decode(&stats) == nil {
				open = stats.Stats.Predictions.Open
			}
			return open == 0
		})
		if !ok {
			s.lab.fault("%d predictions of %s are still open after their markets closed", open, w.handle)
			return
		}
	}
	if s.settled(); s.lab.faulty() {
		return
	}
	said, err := s.node.command("settle", "--rebuild")
	if err != nil || !strings.Contains(said, "every number agrees") {
		s.lab.fault("the ledger differs from its rebuild: %v %.300s", err, said)
	}
	s.lab.count("ledgers rebuilt", 1)
}

// settled reads each author's updates from the start and checks that they include every settlement.
func (s *stage) settled() {
	for _, w := range s.authors {
		missing := map[string]bool{}
		for _, id := range w.ids {
			missing[id] = true
		}
		var a answer
		_, ok := s.lab.eventually(s.lab.patience(10*time.Second), func() bool {
			var settled []string
			settled, _, a, _ = w.readUpdates(s.lab.ctx, s.node.base, w.first)
			for _, id := range settled {
				delete(missing, id)
			}
			return len(missing) == 0
		})
		if !ok {
			s.lab.fault("%d settlements of %s are missing from its updates: %s", len(missing), w.handle, a)
			return
		}
		s.lab.count("settlements among the updates", len(w.ids)-len(missing))
	}
}

// cut is the expected function of checks that kill the node: every answer must be an acknowledgement.
func cut(a answer) bool { return a.err != nil }

// killNodes kills the program while agents publish, half of the times on each database.
func killNodes(l *lab) {
	for db := range l.stores() {
		s := l.stage(db, min(l.Nodes, 40), cut)
		kills := (l.Nodes + 1) / 2
		for i := range kills {
			s.publishes(1 + l.random.IntN(60))
			time.Sleep(time.Duration(l.random.IntN(20_000)) * time.Microsecond)
			s.node.Kill()
			l.count("nodes killed, "+string(db.kind), 1)
			if i%10 == 9 { // kill it once more while it starts
				_, _, err := s.node.launch()
				l.must(err)
				time.Sleep(time.Duration(l.random.IntN(100)) * time.Millisecond)
				s.node.Kill()
				l.count("nodes killed again while starting", 1)
			}
			began := time.Now()
			if err := s.node.start(); err != nil {
				l.fault("the node doesn't start after a kill: %v", err)
				return
			}
			l.longest("longest start after a kill", time.Since(began))
			s.compare()
			if s.advance(i+1, kills); l.faulty() {
				return
			}
		}
		s.finish()
		l.count("predictions acknowledged, "+string(db.kind), s.acknowledged())
		if s.node.Stop(); l.faulty() {
			return
		}
	}
}

// publishingLimit is the longest time until publishing works again after Postgres has started.
const publishingLimit = 10 * time.Second

// killDatabases kills Postgres under a running node, and starts it again.
func killDatabases(l *lab) {
	db := l.postgres()
	s := l.stage(db, min(l.Databases, 20), func(a answer) bool { return a.err != nil || a.status == 503 })
	for i := range l.Databases {
		s.publishes(1 + l.random.IntN(200))
		mode, name := dbtest.Kill, "databases killed"
		if i%2 == 1 {
			mode, name = dbtest.Crash, "databases stopped immediately"
		}
		db.server.Stop(mode)
		l.count(name, 1)
		time.Sleep(time.Duration(l.random.IntN(500)) * time.Millisecond)
		db.server.Start()
		before := s.acknowledged()
		took, ok := l.eventually(l.patience(publishingLimit), func() bool { return s.acknowledged() > before || l.faulty() })
		if !ok {
			l.fault("no publish succeeded %s after the database came back", took)
			return
		}
		l.longest("longest time until publishing works again", took)
		// A comparison reads the state of each topic, so the node must have reconnected to the
		// database.
		s.compare()
		if s.advance(i+1, l.Databases); l.faulty() {
			return
		}
	}
	s.finish()
	l.count("predictions acknowledged", s.acknowledged())
}
