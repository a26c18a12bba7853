package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// recordings is the number of different publishes that pgbench repeats, each on another market. The
// number is small because each client prepares the statements of all recordings.
const recordings = 4

// publishing returns a contender that publishes on our node n with some clients of p.
func (b *bench) publishing(name string, n *node, p *publisher, clients int, keyed, onPostgres bool) contender {
	return contender{name, func(ctx context.Context) (sample, error) {
		if onPostgres {
			if err := b.postgres.checkpoint(ctx); err != nil {
				return sample{}, err
			}
		}
		before, err := b.shares(n, onPostgres)
		if err != nil {
			return sample{}, err
		}
		began := time.Now()
		s, err := p.run(ctx, traffic{clients: clients, length: b.length(), keyed: keyed})
		if err != nil {
			return sample{}, err
		}
		answers := s.rate * time.Since(began).Seconds()
		after, err := b.shares(n, onPostgres)
		s.shares = after.per(before, answers)
		return s, err
	}}
}

// shares reads the processor time used so far. This process is the load generator.
func (b *bench) shares(n *node, onPostgres bool) (s shares, err error) {
	if s.node, err = run.ProcessorTime(n.PID()); err != nil {
		return s, err
	}
	if s.generator, err = run.ProcessorTime(os.Getpid()); err != nil {
		return s, err
	}
	if onPostgres {
		s.backends, err = run.BackendsTime(b.postgres.pid)
	}
	return s, err
}

// warm lets the agents publish, so that they have counters, as pgbench's have. It then does what autovacuum,
// which is off here, does within a minute: a node that has kept plans for small tables plans anew.
func (b *bench) warm(ctx context.Context, p *publisher, database string) error {
	for _, keyed := range []bool{false, true} {
		if _, err := p.run(ctx, traffic{clients: 64, count: agents, keyed: keyed}); err != nil {
			return err
		}
	}
	p.acknowledged.Store(0)
	return b.postgres.exec(ctx, database, "ANALYZE")
}

// publish compares publishing on Postgres with pgbench.
func (b *bench) publish(ctx context.Context) ([]row, error) {
	n, p, err := b.onPostgres(ctx, "publish")
	if err != nil {
		return nil, err
	}
	defer n.Stop()
	scripts, scripted, err := b.record(ctx)
	if err != nil {
		return nil, err
	}
	alone, err := b.recordReplay(ctx)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	url := b.postgres.url(databaseName("publish"))
	if err := b.warm(ctx, p, databaseName("publish")); err != nil {
		return nil, err
	}
	before, err := stored(ctx, url)
	if err != nil {
		return nil, err
	}
	const ours1, ours64, ours256, keyed = "publish, 1 client", "publish, 64 clients", "publish, 256 clients", "publish with Idempotency-Key, 64 clients"
	const one, same1, same64 = "pgbench, one row, 64 clients", "pgbench, same rows, 1 client", "pgbench, same rows, 64 clients"
	const grouped = "pgbench, same rows, 64 in each transaction, 1 client"
	const keyedGroup = "same rows and keys, 64 in each transaction"
	replayed := fmt.Sprintf("same %d statements, one connection", len(alone.statements))
	all, err := b.compare(ctx, []contender{
		b.publishing(ours64, n, p, 64, false, true), b.pgbench(one, scripted, 64, 1, scripts.one),
		b.publishing(ours256, n, p, 256, false, true), b.pgbench(same64, scripted, 64, 1, scripts.same),
		b.publishing(keyed, n, p, 64, true, true), b.pgbench(grouped, scripted, 1, perTransaction, scripts.group),
		b.pgbench(keyedGroup, scripted, 1, perTransaction, scripts.keyed),
		b.publishing(ours1, n, p, 1, false, true), b.pgbench(same1, scripted, 1, 1, scripts.same),
		{replayed, alone.measure},
	})
	if err != nil {
		return nil, err
	}
	for _, name := range []string{ours64, ours256} {
		what := strings.Replace(name, "publish,", "publish, Postgres,", 1)
		b.floors = append(b.floors, row{what: what, ours: all.rates(name), reference: all.rates(grouped)})
		b.floors = append(b.floors, all.usage(what, name)...)
	}
	b.floors = append(b.floors, all.usage(one, one)...)
	b.floors = append(b.floors,
		row{what: "pgbench, " + keyedGroup, ours: all.rates(keyedGroup), reference: named("without keys", all.rates(grouped))},
		row{what: "publish, Postgres, 1 client", ours: all.rates(ours1), reference: all.rates(replayed)})
	rows := []row{
		{what: "publish, Postgres, 64 clients", ours: all.rates(ours64), reference: all.rates(one), target: atLeast(.3, ", aim 0.5")},
		{what: "publish, Postgres, 256 clients", ours: all.rates(ours256), reference: all.rates(one), target: atLeast(.3, ", aim 0.5")},
		{what: "publish, Postgres, 64 clients", ours: all.rates(ours64), reference: all.rates(same64), target: atLeast(2)},
		{what: "publish, Postgres, 1 client", ours: all.rates(ours1), reference: all.rates(same1), target: atLeast(.6)},
		{what: "publish with `Idempotency-Key`, Postgres, 64 clients", ours: all.rates(keyed), reference: named("without the key", all.rates(ours64)), target: atLeast(.9)},
	}
	return rows, p.checkStored(ctx, url, before)
}

func named(name string, s series) series {
	s.name = name
	return s
}

// checkStored returns an error unless the database holds every acknowledged prediction. It may also
// hold predictions whose answers were cut off at the end of a measurement.
func (p *publisher) checkStored(ctx context.Context, url string, before int) error {
	after, err := stored(ctx, url)
	if err != nil {
		return err
	}
	if added, acknowledged := after-before, int(p.acknowledged.Load()); added < acknowledged {
		return fmt.Errorf("%d predictions were acknowledged, but %d are stored", acknowledged, added)
	}
	return nil
}

// scripts holds the paths of pgbench's scripts. one inserts a prediction into a table with four
// indexes. same writes everything that a publish without a key writes. group does that for perTransaction
// publishes at once, and keyed does it for publishes with keys.
type scripts struct{ one, same, group, keyed []string }

// record makes pgbench's scripts and the database that they write to, and returns its name.
func (b *bench) record(ctx context.Context) (s scripts, scripted string, err error) {
	n, p, err := b.onPostgres(ctx, "recorded")
	if err != nil {
		return s, "", err
	}
	var found []*recording
	for i := range recordings {
		r, err := b.postgres.record(ctx, databaseName("recorded"), p, p.markets[i%len(p.markets)])
		if err != nil {
			n.Stop()
			return s, "", err
		}
		found = append(found, r)
	}
	n.Stop()
	scripted = databaseName("scripted")
	if err := b.postgres.clone(ctx, databaseName("recorded"), scripted); err != nil {
		return s, "", err
	}
	if err := found[0].addScriptAgents(ctx, b.postgres, scripted); err != nil {
		return s, "", err
	}
	err = b.postgres.exec(ctx, scripted, "CREATE TABLE one_row (LIKE predictions, PRIMARY KEY (agent_id, id))",
		"CREATE INDEX ON one_row (id)", "CREATE INDEX ON one_row (market_id, id)", "CREATE INDEX ON one_row (category, id)")
	if err != nil {
		return s, "", err
	}
	var one, same, group, keyed []string
	for _, r := range found {
		plain := r.without(keyTable)
		one = append(one, variables+r.insert(r.main(), "one_row")+";\n")
		same, group, keyed = append(same, plain.script()), append(group, plain.groupScript()), append(keyed, r.groupScript())
	}
	run.Progress("  a publish writes %s", found[0])
	s.one, err = writeScripts(b.dir, "one", one)
	if err == nil {
		s.same, err = writeScripts(b.dir, "same", same)
	}
	if err == nil {
		s.group, err = writeScripts(b.dir, "group", group)
	}
	if err == nil {
		s.keyed, err = writeScripts(b.dir, "keyed", keyed)
	}
	return s, scripted, err
}

// String lists the tables that a publish writes to.
func (r *recording) String() string {
	var parts []string
	for _, row := range r.rows {
		verb := "updates"
		if row.inserted {
			verb = "inserts into"
		}
		parts = append(parts, verb+" "+row.table)
	}
	return strings.Join(slices.Compact(parts), ", ")
}

// publishSQLite compares publishing on SQLite with a bare loop.
func (b *bench) publishSQLite(ctx context.Context) ([]row, error) {
	n, p, path, err := b.onSQLite(ctx, "publish")
	if err != nil {
		return nil, err
	}
	defer n.Stop()
	if _, err := p.run(ctx, traffic{clients: 1, count: 1, keyed: true}); err != nil {
		return nil, err
	}
	p.acknowledged.Store(0)
	before, err := stored(ctx, "sqlite://"+path)
	if err != nil {
		return nil, err
	}
	bare, err := b.openBare(ctx, path)
	if err != nil {
		return nil, err
	}
	defer bare.db.Close()
	same, err := b.openBarePublish(ctx, path)
	if err != nil {
		return nil, err
	}
	defer same.db.Close()
	const ours, keyed, loop = "publish, SQLite, 32 clients", "publish with Idempotency-Key, SQLite", "bare loop of one-row transactions"
	const same32, same1 = "bare loop, same rows, 32 in each transaction", "bare loop, same rows, one publish in each transaction"
	const keyed32 = "bare loop, same rows and keys, 32 in each transaction"
	all, err := b.compare(ctx, []contender{
		b.publishing(ours, n, p, 32, false, false), {loop, bare.measure}, b.publishing(keyed, n, p, 32, true, false),
		same.contender(same32, 32, false), same.contender(same1, 1, false), same.contender(keyed32, 32, true),
	})
	if err != nil {
		return nil, err
	}
	for _, floor := range []string{same32, same1} {
		b.floors = append(b.floors, row{what: ours, ours: all.rates(ours), reference: all.rates(floor)})
	}
	b.floors = append(b.floors, all.usage(ours, ours)...)
	b.floors = append(b.floors, row{what: keyed32, ours: all.rates(keyed32), reference: named("without keys", all.rates(same32))})
	rows := []row{
		{what: "publish, SQLite, 32 clients", ours: all.rates(ours), reference: all.rates(loop), target: atLeast(.6, ", aim 1")},
		{what: "publish with `Idempotency-Key`, SQLite, 32 clients", ours: all.rates(keyed), reference: named("without the key", all.rates(ours)), target: atLeast(.9)},
	}
	return rows, p.checkStored(ctx, "sqlite://"+path, before)
}

// bareLoop inserts predictions into the table that our migrations make, one per transaction.
type bareLoop struct {
	db     *sql.DB
	insert *sql.Stmt
	values []any
	id     int // position of the column id
	agent  int
	agents []string
	length time.Duration
}

// openBare makes an empty database with our schema and reads the newest prediction of path, which
// the loop repeats. Foreign keys are off, so the loop doesn't pay for them.
func (b *bench) openBare(ctx context.Context, path string) (l *bareLoop, err error) {
	empty := b.dir + "/bare.db"
	made, err := database.Open(ctx, "sqlite://"+empty)
	if err != nil {
		return nil, err
	}
	_, err = made.Migrate(ctx)
	if err = errors.Join(err, made.Close()); err != nil {
		return nil, err
	}
	l = &bareLoop{length: b.length()}
	l.db, err = sql.Open("sqlite", empty+bareOptions)
	if err != nil {
		return nil, err
	}
	l.db.SetMaxOpenConns(1)
	columns, err := l.copyRow(ctx, path)
	if err != nil {
		return nil, errors.Join(err, l.db.Close())
	}
	for range agents {
		l.agents = append(l.agents, database.NewID(time.Now()).String())
	}
	l.id, l.agent = slices.Index(columns, "id"), slices.Index(columns, "agent_id")
	places := strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", ")
	l.insert, err = l.db.PrepareContext(ctx, "INSERT INTO predictions ("+strings.Join(columns, ", ")+") VALUES ("+places+")")
	return l, err
}

func (l *bareLoop) copyRow(ctx context.Context, path string) (columns []string, err error) {
	from, err := sql.Open("sqlite", path+"?mode=ro")
	if err != nil {
		return nil, err
	}
	defer from.Close()
	rows, err := from.QueryContext(ctx, "SELECT * FROM predictions ORDER BY id DESC LIMIT 1")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if columns, err = rows.Columns(); err != nil {
		return nil, err
	}
	l.values = make([]any, len(columns))
	targets := make([]any, len(columns))
	for i := range l.values {
		targets[i] = &l.values[i]
	}
	if !rows.Next() {
		return nil, errors.Join(errors.New("no prediction to copy"), rows.Err())
	}
	return columns, rows.Scan(targets...)
}

func (l *bareLoop) measure(ctx context.Context) (sample, error) {
	began, count := time.Now(), 0
	for ; time.Since(began) < l.length; count++ {
		l.values[l.id] = uuid.Must(uuid.NewV7()).String()
		l.values[l.agent] = l.agents[count%len(l.agents)]
		if _, err := l.insert.ExecContext(ctx, l.values...); err != nil {
			return sample{}, err
		}
	}
	return sample{rate: float64(count) / time.Since(began).Seconds()}, nil
}
