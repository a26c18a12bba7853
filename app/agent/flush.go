package agent

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// usageFlush is the time between two flushes.
const usageFlush = 10 * time.Second

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
	errors    []RequestError
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
	ids = slices.Compact(ids)
	if err := delayClosing(ctx, tx, ids); err != nil {
		return b, err
	}
	open := map[uuid.UUID]Author{}
	err := database.ScanReads(ctx, tx, OpenAmong(ids, open))
	if err != nil || len(open) == len(ids) {
		return b, err
	}
	closed := func(id uuid.UUID) bool { _, is := open[id]; return !is }
	b.hours = slices.DeleteFunc(slices.Clone(b.hours), func(r usageHour) bool { return closed(r.AgentID) })
	b.endpoints = slices.DeleteFunc(slices.Clone(b.endpoints), func(r usageEndpoint) bool { return closed(r.AgentID) })
	b.errors = slices.DeleteFunc(slices.Clone(b.errors), func(r RequestError) bool { return closed(r.AgentID) })
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
