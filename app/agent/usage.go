package agent

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// Counts counts an agent's requests over a period.
type Counts struct {
	Requests int64 // all requests
	Errors   int64 // answered with 400 or above, without 429
	Limited  int64 // answered with 429
}

// ErrorRate returns the share of the requests that were answered 4xx or 5xx, including 429, from 0 to 1.
func (c Counts) ErrorRate() float64 {
	if c.Requests == 0 {
		return 0
	}
	return float64(c.Errors+c.Limited) / float64(c.Requests)
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
//
// Methods that read add up the tables and the memory of this node, and wait for no flush. They read the
// tables first, and a flush takes its counts from memory before it writes them. So they may lack the counts
// of a running transaction, but count none twice.
type Usage struct {
	db  *database.DB
	log *slog.Logger
	now func() time.Time

	mu     sync.RWMutex
	counts map[uuid.UUID]counters
	keys   map[string]struct{}
	errors recent

	stop chan struct{}
	done chan struct{}
	// interrupt ends a flush that Start has begun.
	interrupt context.CancelFunc
}

// NewUsage returns a Usage that writes to db.
func NewUsage(db *database.DB, log *slog.Logger, now func() time.Time) *Usage {
	return &Usage{db: db, log: log, now: now, counts: map[uuid.UUID]counters{}, keys: map[string]struct{}{}}
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
		t = counters{}
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
