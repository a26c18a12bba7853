package agent

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// usageFlush is the time between two flushes.
const usageFlush = 10 * time.Second

// Counts counts an agent's requests over a period.
type Counts struct {
	Requests int64 // all requests
	Errors   int64 // answered with 400 or above, without 429
	Limited  int64 // answered with 429
}

func (c Counts) plus(o Counts) Counts {
	return Counts{c.Requests + o.Requests, c.Errors + o.Errors, c.Limited + o.Limited}
}

// usageHour is a row with an agent's counts of one hour.
type usageHour struct {
	bun.BaseModel `bun:"table:agent_usage,alias:u"`

	AgentID uuid.UUID `bun:",pk"`
	Hour    time.Time `bun:",pk"`
	Counts
}

// Request is one answered request of an agent.
type Request struct {
	Method string
	Route  string // the registered pattern, as "/api/predictions/:id"; "" if none matched
	Status int
	Code   string // the code of the error; "" for a success
	ID     []byte // the id of the request, at most 64 bytes; Count copies it
}

// Usage counts the requests of agents on this node and writes to the database in batches: the
// counts by hour and by endpoint, the latest errors, and when agents were last seen and keys last
// used. A crash loses up to ten seconds of counts. An unavailable database loses no counts.
type Usage struct {
	db  *database.DB
	log *slog.Logger
	now func() time.Time

	mu     sync.RWMutex
	counts map[uuid.UUID]tally
	keys   map[string]struct{}
	errors recent

	flushing sync.RWMutex // held for reading while memory and table are added up
	stop     chan struct{}
	done     chan struct{}
	// interrupt ends a flush that Start has begun.
	interrupt context.CancelFunc
}

// NewUsage returns a Usage that writes to db.
func NewUsage(db *database.DB, log *slog.Logger, now func() time.Time) *Usage {
	return &Usage{db: db, log: log, now: now, counts: map[uuid.UUID]tally{}, keys: map[string]struct{}{}}
}

// Count counts one request of an agent. An error is also kept among the agent's latest errors if
// there is room.
func (u *Usage) Count(agentID uuid.UUID, r Request) {
	at := endpoint{r.Method, r.Route}
	u.mu.RLock()
	c := u.counts[agentID][at]
	if c != nil {
		// Count while holding the lock, so that Flush can't drop the counter first.
		c.count(r.Status)
	}
	u.mu.RUnlock()
	if c == nil {
		u.put(agentID, at, one(r.Status))
	}
	if r.Status >= 400 {
		u.errors.keep(agentID, u.now(), &r)
	}
}

func (u *Usage) put(agentID uuid.UUID, at endpoint, n Answers) {
	at.method = known(at.method)
	u.mu.Lock()
	defer u.mu.Unlock()
	t := u.counts[agentID]
	if t == nil {
		t = tally{}
		u.counts[agentID] = t
	}
	c := t[at]
	if c == nil {
		c = new(counter)
		t[at] = c
	}
	c.add(n)
}

// KeyUsed records that a local key was used.
func (u *Usage) KeyUsed(keyID string) {
	u.mu.Lock()
	u.keys[keyID] = struct{}{}
	u.mu.Unlock()
}

// Last24h counts an agent's requests in the last 24 whole hours and the current one. Requests to
// other nodes may be missing for ten seconds.
func (u *Usage) Last24h(ctx context.Context, db bun.IDB, agentID uuid.UUID) (Counts, error) {
	all, err := u.Last24hAll(ctx, db, []uuid.UUID{agentID})
	return all[agentID], err
}

// Last24hAll is like Last24h for several agents, with one query.
func (u *Usage) Last24hAll(ctx context.Context, db bun.IDB, ids []uuid.UUID) (map[uuid.UUID]Counts, error) {
	sums := make(map[uuid.UUID]Counts, len(ids))
	if len(ids) == 0 {
		return sums, nil
	}
	// Wait for a running flush, which moves counts from memory to the table.
	u.flushing.RLock()
	defer u.flushing.RUnlock()
	var rows []usageHour
	p := database.NewPlanned(db)
	q := db.NewSelect().Model((*usageHour)(nil)).
		ColumnExpr("agent_id, SUM(requests) AS requests, SUM(errors) AS errors, SUM(limited) AS limited").
		Where("hour >= ?", p.Value(u.now().UTC().Add(-24*time.Hour).Truncate(time.Hour))).GroupExpr("agent_id")
	err := p.Scan(ctx, p.In(q, "agent_id", ids), &rows)
	if err != nil {
		return nil, fmt.Errorf("read usage: %w", err)
	}
	for _, row := range rows {
		sums[row.AgentID] = row.Counts
	}
	u.mu.RLock()
	defer u.mu.RUnlock()
	for _, id := range ids {
		sums[id] = sums[id].plus(u.counts[id].read().counts())
	}
	return sums, nil
}

// Hour holds the counts of one hour, which begins at At.
type Hour struct {
	At time.Time
	Counts
}

// ByHour counts the requests of agents in each of the last n hours. The current hour comes last.
// Requests to other nodes may be missing for ten seconds. Agents without requests are left out.
func (u *Usage) ByHour(ctx context.Context, db bun.IDB, ids []uuid.UUID, n int) (map[uuid.UUID][]Hour, error) {
	hours := map[uuid.UUID][]Hour{}
	if len(ids) == 0 {
		return hours, nil
	}
	from := u.now().UTC().Truncate(time.Hour).Add(-time.Duration(n-1) * time.Hour)
	// Wait for a running flush, which moves counts from memory to the table.
	u.flushing.RLock()
	defer u.flushing.RUnlock()
	var rows []usageHour
	if err := db.NewSelect().Model(&rows).Where("agent_id IN ?", bun.Tuple(ids)).Where("hour >= ?", from).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read usage by hour: %w", err)
	}
	for _, row := range append(rows, u.unwritten(ids)...) {
		list := hours[row.AgentID]
		if list == nil {
			list = make([]Hour, n)
			for i := range list {
				list[i].At = from.Add(time.Duration(i) * time.Hour)
			}
			hours[row.AgentID] = list
		}
		if i := int(row.Hour.Sub(from) / time.Hour); i >= 0 && i < n {
			list[i].Counts = list[i].plus(row.Counts)
		}
	}
	return hours, nil
}

// unwritten returns the counts of agents on this node since the last flush.
func (u *Usage) unwritten(ids []uuid.UUID) []usageHour {
	hour := u.now().UTC().Truncate(time.Hour)
	var rows []usageHour
	u.mu.RLock()
	defer u.mu.RUnlock()
	for _, id := range ids {
		if t := u.counts[id]; t != nil {
			rows = append(rows, usageHour{AgentID: id, Hour: hour, Counts: t.read().counts()})
		}
	}
	return rows
}

// Waiting returns the number of agents with counts on this node that aren't written yet, and the
// number of errors.
func (u *Usage) Waiting() (agents, errors int) {
	u.mu.RLock()
	defer u.mu.RUnlock()
	return len(u.counts), u.errors.held()
}

// flushRows bounds the rows of one transaction, except that all rows of an agent are in the same one. Publishing
// waits for one such transaction at most: on SQLite for the write lock, on Postgres for the rows of agents.
const flushRows = 100

// Flush writes the counts since the last flush. If that fails, what wasn't written is kept for the next flush.
func (u *Usage) Flush(ctx context.Context) error {
	agents, keys := u.waiting()
	for len(agents) > 0 {
		n, err := u.flushSome(ctx, agents)
		if err != nil {
			return fmt.Errorf("write usage: %w", err)
		}
		agents = agents[n:]
	}
	for some := range slices.Chunk(keys, flushRows) {
		if err := u.flushKeys(ctx, some); err != nil {
			return fmt.Errorf("write usage: %w", err)
		}
	}
	return nil
}

// waiting returns the agents that have counters or errors, and the used keys. They are sorted, so that two
// nodes can't deadlock.
func (u *Usage) waiting() (agents []uuid.UUID, keys []string) {
	u.mu.RLock()
	agents = slices.AppendSeq(u.errors.agents(), maps.Keys(u.counts))
	keys = slices.Sorted(maps.Keys(u.keys))
	u.mu.RUnlock()
	slices.SortFunc(agents, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(agents), keys
}

// flushSome writes the counts and errors of the first n agents, in one transaction.
func (u *Usage) flushSome(ctx context.Context, agents []uuid.UUID) (n int, err error) {
	u.flushing.Lock()
	defer u.flushing.Unlock()
	b, n := u.take(agents)
	if b.rows() == 0 {
		return n, nil
	}
	err = u.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error { return b.write(ctx, tx, u.now()) })
	if err != nil {
		for _, row := range b.endpoints {
			u.put(row.AgentID, endpoint{row.Method, row.Route}, row.Answers)
		}
		u.errors.putBack(b.errors)
	}
	return n, err
}

func (u *Usage) flushKeys(ctx context.Context, keys []string) error {
	u.mu.Lock()
	for _, key := range keys {
		delete(u.keys, key)
	}
	u.mu.Unlock()
	err := u.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error { return noteKeys(ctx, tx, keys, u.now()) })
	if err != nil {
		for _, key := range keys {
			u.KeyUsed(key)
		}
	}
	return err
}

// batch holds the rows that one transaction writes, in the order of agents.
type batch struct {
	hours     []usageHour
	endpoints []usageEndpoint
	errors    []Failure
}

func (b batch) rows() int { return len(b.hours) + len(b.endpoints) + len(b.errors) }

// take empties the counters of the first n agents, drops the idle ones and returns the rows to write.
func (u *Usage) take(agents []uuid.UUID) (b batch, n int) {
	hour := u.now().UTC().Truncate(time.Hour)
	u.mu.Lock()
	defer u.mu.Unlock()
	for n < len(agents) && b.rows() < flushRows {
		id := agents[n]
		n++
		b.errors = append(b.errors, u.errors.take(id)...)
		t, sum := u.counts[id], Answers{}
		for at, c := range t {
			n := c.take()
			if n == (Answers{}) {
				delete(t, at)
				continue
			}
			sum = sum.plus(n)
			b.endpoints = append(
				b.endpoints, usageEndpoint{AgentID: id, Hour: hour, Method: at.method, Route: at.route, Answers: n},
			)
		}
		if sum == (Answers{}) {
			delete(u.counts, id)
			continue
		}
		b.hours = append(b.hours, usageHour{AgentID: id, Hour: hour, Counts: sum.counts()})
	}
	slices.SortFunc(b.endpoints, inOrder)
	return b, n
}

// withoutClosed returns the batch without the rows of accounts that were closed in the meantime. b
// keeps its rows, because Flush adds them again if the transaction fails.
func (b batch) withoutClosed(ctx context.Context, tx bun.Tx) (batch, error) {
	var ids []uuid.UUID
	for _, row := range b.hours {
		ids = append(ids, row.AgentID)
	}
	for i := range b.errors { // an error may be written one flush after its count
		ids = append(ids, b.errors[i].AgentID)
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	closed, err := ClosedAmong(ctx, tx, slices.Compact(ids))
	if err != nil || len(closed) == 0 {
		return b, err
	}
	b.hours = slices.DeleteFunc(slices.Clone(b.hours), func(r usageHour) bool { return closed[r.AgentID] })
	b.endpoints = slices.DeleteFunc(slices.Clone(b.endpoints), func(r usageEndpoint) bool { return closed[r.AgentID] })
	b.errors = slices.DeleteFunc(slices.Clone(b.errors), func(r Failure) bool { return closed[r.AgentID] })
	return b, nil
}

func (b batch) write(ctx context.Context, tx bun.Tx, at time.Time) error {
	b, err := b.withoutClosed(ctx, tx)
	if err != nil {
		return err
	}
	if err := writeHours(ctx, tx, b.hours, at); err != nil {
		return err
	}
	if err := writeEndpoints(ctx, tx, b.endpoints); err != nil {
		return err
	}
	return writeErrors(ctx, tx, b.errors)
}

// writeHours adds the counts of agents, and records that they were seen.
func writeHours(ctx context.Context, tx bun.Tx, rows []usageHour, at time.Time) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := tx.NewInsert().Model(&rows).On("CONFLICT (agent_id, hour) DO UPDATE").
		Set("requests = u.requests + EXCLUDED.requests").
		Set("errors = u.errors + EXCLUDED.errors").
		Set("limited = u.limited + EXCLUDED.limited").Exec(ctx)
	if err != nil {
		return err
	}
	ids := make([]uuid.UUID, len(rows))
	for i, row := range rows {
		ids[i] = row.AgentID
	}
	return (Store{}).Touch(ctx, tx, ids, at)
}

// Start begins to flush every ten seconds, until Stop.
func (u *Usage) Start() {
	u.stop, u.done = make(chan struct{}), make(chan struct{})
	var running context.Context
	running, u.interrupt = context.WithCancel(context.Background())
	go func() {
		defer close(u.done)
		tick := time.NewTicker(usageFlush)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				ctx, cancel := context.WithTimeout(running, usageFlush)
				if err := u.Flush(ctx); err != nil {
					u.log.Warn("can't write usage; it is kept for the next flush", "error", err)
				}
				cancel()
			case <-u.stop:
				return
			}
		}
	}()
}

// Stop ends the flushes after a last one. If ctx ends, it waits for none.
func (u *Usage) Stop(ctx context.Context) error {
	close(u.stop)
	defer u.interrupt()
	defer context.AfterFunc(ctx, u.interrupt)()
	<-u.done
	return u.Flush(ctx)
}
