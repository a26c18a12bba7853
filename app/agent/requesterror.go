package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// MaxErrors is how many errors of each agent are kept: the latest ones. Between two flushes, a node
// holds at most MaxErrors errors of an agent, and maxRecent of all agents. If there are more, some
// are dropped, but the counts stay exact.
const (
	MaxErrors = 50
	maxRecent = 4096
)

// RequestError is a request of an agent that was answered with a status of 400 or above.
type RequestError struct {
	bun.BaseModel `bun:"table:agent_errors,alias:f"`

	ID        uuid.UUID `bun:",pk,type:uuid"`
	AgentID   uuid.UUID `bun:",pk,type:uuid"`
	CreatedAt time.Time
	Method    string
	Route     string // as Request.Route
	Status    int
	Code      string
	RequestID string
}

// note is a RequestError in memory. It needs no allocation.
type note struct {
	at            time.Time
	method, route string
	code          string
	status        int
	id            [64]byte
	idLen         int
}

// ring holds the latest errors of one agent. next is the index that is overwritten next when the
// ring is full.
type ring struct {
	notes []note
	next  int
}

// recent holds the errors since the last flush.
type recent struct {
	mu    sync.Mutex
	rings map[uuid.UUID]*ring
	n     int // number of errors of all agents
}

func (r *recent) held() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

// keep adds an error. If the agent has MaxErrors already, it replaces the oldest.
func (r *recent) keep(agentID uuid.UUID, at time.Time, q *Request) {
	n := note{at: at, method: known(q.Method), route: q.Route, code: q.Code, status: q.Status}
	n.idLen = copy(n.id[:], q.ID)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(agentID, &n)
}

func (r *recent) add(agentID uuid.UUID, n *note) {
	k := r.rings[agentID]
	switch {
	case k != nil && len(k.notes) == MaxErrors:
		k.notes[k.next] = *n
		k.next = (k.next + 1) % MaxErrors
	case r.n >= maxRecent:
	default:
		if k == nil {
			k = new(ring)
			if r.rings == nil {
				r.rings = map[uuid.UUID]*ring{}
			}
			r.rings[agentID] = k
		}
		k.notes = append(k.notes, *n)
		r.n++
	}
}

// of returns the errors of one agent, the oldest first.
func (r *recent) of(agentID uuid.UUID) []RequestError {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rings[agentID].list(agentID)
}

// agents returns the agents with errors.
func (r *recent) agents() []uuid.UUID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.rings))
}

// take removes and returns the errors of one agent, the oldest first.
func (r *recent) take(agentID uuid.UUID) []RequestError {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.rings[agentID].list(agentID)
	delete(r.rings, agentID)
	r.n -= len(list)
	return list
}

// putBack adds the errors of a failed flush again. They count as older than the errors since then.
func (r *recent) putBack(list []RequestError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	since := r.rings
	r.rings, r.n = nil, 0
	for i := range list {
		e := &list[i]
		n := note{at: e.CreatedAt, method: e.Method, route: e.Route, code: e.Code, status: e.Status}
		n.idLen = copy(n.id[:], e.RequestID)
		r.add(e.AgentID, &n)
	}
	for id, k := range since {
		for i := range k.notes {
			r.add(id, &k.notes[(k.next+i)%len(k.notes)])
		}
	}
}

func (k *ring) list(agentID uuid.UUID) []RequestError {
	if k == nil {
		return nil
	}
	list := make([]RequestError, len(k.notes))
	for i := range list {
		n := &k.notes[(k.next+i)%len(k.notes)]
		at := database.Stored(n.at)
		list[i] = RequestError{ID: database.NewID(at), AgentID: agentID, CreatedAt: at, Method: n.method, Route: n.route,
			Status: n.status, Code: n.code, RequestID: string(n.id[:n.idLen])}
	}
	return list
}

// writeErrors stores errors and deletes the oldest of each agent beyond MaxErrors.
func writeErrors(ctx context.Context, tx bun.Tx, list []RequestError) error {
	if len(list) == 0 {
		return nil
	}
	if _, err := tx.NewInsert().Model(&list).Exec(ctx); err != nil {
		return err
	}
	ids := make([]uuid.UUID, 0, len(list))
	for i := range list {
		if i == 0 || list[i].AgentID != list[i-1].AgentID {
			ids = append(ids, list[i].AgentID)
		}
	}
	_, err := tx.NewRaw(`DELETE FROM agent_errors WHERE (agent_id, id) IN (SELECT agent_id, id FROM (
		SELECT agent_id, id, ROW_NUMBER() OVER (PARTITION BY agent_id ORDER BY id DESC) AS place FROM agent_errors WHERE agent_id IN (?)
	) AS ranked WHERE place > ?)`, bun.List(ids), MaxErrors).Exec(ctx)
	return err
}

// RecentErrors returns the latest errors of an agent, at most MaxErrors, the newest first. Errors on
// other nodes may be missing for ten seconds.
func (u *Usage) RecentErrors(ctx context.Context, db bun.IDB, agentID uuid.UUID) ([]RequestError, error) {
	var list []RequestError
	err := db.NewSelect().Model(&list).Where("agent_id = ?", agentID).OrderExpr("id DESC").Limit(MaxErrors).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the errors of an agent: %w", err)
	}
	for i := range list {
		list[i].CreatedAt = list[i].CreatedAt.UTC()
	}
	list = append(list, u.errors.of(agentID)...)
	slices.SortStableFunc(list, func(a, b RequestError) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return list[:min(len(list), MaxErrors)], nil
}
