package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// agents is the number of agents that publish.
const agents = 2000

// world is the demo's sample world with many more agents. It is stored once per database engine and
// copied for every group, so that all groups start with the same content.
type world struct {
	postgres string // name of the database
	sqlite   string // path of the file
	keys     struct{ postgres, sqlite []string }
	markets  []string // ids of open markets
	crowd    string   // a market that is an open assignment
	evidence []string // addresses of known news items
}

// world returns the sample world. The first call makes it.
func (b *bench) world(ctx context.Context) (w *world, err error) {
	if b.seeded != nil {
		return b.seeded, nil
	}
	run.Progress("  making the sample world")
	w = &world{postgres: databaseName("world"), sqlite: filepath.Join(b.dir, "world.db")}
	if err := b.postgres.clone(ctx, "template0", w.postgres); err != nil {
		return nil, err
	}
	if w.keys.postgres, err = b.seed(ctx, w, b.postgres.url(w.postgres)); err != nil {
		return nil, fmt.Errorf("seed Postgres: %w", err)
	}
	if err := b.postgres.exec(ctx, w.postgres, "ANALYZE"); err != nil {
		return nil, err
	}
	if w.keys.sqlite, err = b.seed(ctx, w, "sqlite://"+w.sqlite); err != nil {
		return nil, fmt.Errorf("seed SQLite: %w", err)
	}
	if left, err := os.Stat(w.sqlite + "-wal"); err == nil && left.Size() > 0 {
		return nil, fmt.Errorf("SQLite left a write-ahead log: %s", left.Name())
	}
	b.seeded = w
	return w, nil
}

// seed fills an empty database by starting the demo on it, and adds agents.
func (b *bench) seed(ctx context.Context, w *world, url string) (keys []string, err error) {
	n, err := b.serveDemo(ctx, url)
	if err != nil {
		return nil, err
	}
	defer n.Stop()
	if err := errors.Join(n.sealed(ctx), w.look(ctx, n)); err != nil {
		return nil, err
	}
	return addAgents(ctx, url)
}

// serveDemo serves the sample world and waits until it stops changing.
func (b *bench) serveDemo(ctx context.Context, url string) (*node, error) {
	n, err := b.serve(ctx, url, "--demo")
	if err != nil {
		return nil, err
	}
	if err := n.settle(ctx); err != nil {
		n.Stop()
		return nil, err
	}
	return n, nil
}

// look reads from the node the ids and addresses that the load needs.
func (w *world) look(ctx context.Context, n *node) error {
	var markets struct {
		Markets []struct {
			ID       string
			Outcomes []string
		}
	}
	var assignments struct {
		Assignments []struct{ Market *struct{ ID string } }
	}
	var news struct{ News []struct{ URL string } }
	for path, to := range map[string]any{
		"/api/intelligence/markets?limit=100": &markets, "/api/assignments": &assignments, "/api/intelligence/news?limit=100": &news,
	} {
		a, err := n.want(path, `"ok":true`).fetch(ctx)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(a.body, to); err != nil {
			return fmt.Errorf("GET %s: %w", path, err)
		}
	}
	w.markets, w.evidence, w.crowd = nil, nil, ""
	for _, m := range markets.Markets {
		if slices.Contains(m.Outcomes, "Yes") { // other markets need an outcome in the prediction
			w.markets = append(w.markets, m.ID)
		}
	}
	for _, item := range news.News {
		w.evidence = append(w.evidence, item.URL)
	}
	for _, a := range assignments.Assignments {
		if a.Market != nil && w.crowd == "" && slices.Contains(w.markets, a.Market.ID) {
			w.crowd = a.Market.ID
		}
	}
	if len(w.markets) < 32 || len(w.evidence) < 20 || w.crowd == "" {
		return fmt.Errorf("the sample world has %d markets, %d news and assignment %q", len(w.markets), len(w.evidence), w.crowd)
	}
	return nil
}

// addAgents registers agents, each with a key.
func addAgents(ctx context.Context, url string) (keys []string, err error) {
	db, err := database.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	now := time.Now()
	err = db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		for i := range agents {
			made, err := agent.Store{}.Create(ctx, tx, agent.New{
				Profile: agent.Profile{Name: fmt.Sprintf("Bench %d", i), Model: fmt.Sprintf("model-%d", i%20)}, At: now,
			})
			if err != nil {
				return err
			}
			key, _, err := agent.Store{}.IssueKey(ctx, tx, made.ID, "bench", now)
			if err != nil {
				return err
			}
			keys = append(keys, key)
		}
		return nil
	})
	return keys, err
}

// onPostgres serves a new copy of the world.
func (b *bench) onPostgres(ctx context.Context, name string) (*node, *publisher, error) {
	w, err := b.world(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := b.postgres.clone(ctx, w.postgres, databaseName(name)); err != nil {
		return nil, nil, err
	}
	n, err := b.serveDemo(ctx, b.postgres.url(databaseName(name)))
	if err != nil {
		return nil, nil, err
	}
	return n, w.publisher(n, w.keys.postgres), nil
}

// onSQLite serves a new copy of the world. It also returns the path of the copy.
func (b *bench) onSQLite(ctx context.Context, name string) (*node, *publisher, string, error) {
	w, err := b.world(ctx)
	if err != nil {
		return nil, nil, "", err
	}
	content, err := os.ReadFile(w.sqlite)
	if err != nil {
		return nil, nil, "", err
	}
	path := filepath.Join(b.dir, name+".db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return nil, nil, "", err
	}
	n, err := b.serveDemo(ctx, "sqlite://"+path)
	if err != nil {
		return nil, nil, "", err
	}
	return n, w.publisher(n, w.keys.sqlite), path, nil
}

// stored returns the number of predictions in a database.
func stored(ctx context.Context, url string) (count int, err error) {
	db, err := database.Open(ctx, url)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.Reader.QueryRowContext(ctx, "SELECT COUNT(*) FROM predictions").Scan(&count)
	return count, err
}
