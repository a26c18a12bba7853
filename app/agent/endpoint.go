package agent

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// endpoint is a method and a registered route. Their number is bounded by the routes of the service
// and doesn't depend on what agents send.
type endpoint struct{ method, route string }

// known returns the method under which a request is counted. All methods that no route uses count
// as one.
func known(method string) string {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return method
	}
	return "other"
}

// Answers counts requests by the status of their answers.
type Answers struct {
	OK      int64 // below 400
	Refused int64 // 4xx but 429
	Limited int64 // 429
	Failed  int64 // 5xx
}

// Total returns the number of all requests.
func (a Answers) Total() int64 { return a.OK + a.Refused + a.Limited + a.Failed }

func (a Answers) plus(o Answers) Answers {
	return Answers{a.OK + o.OK, a.Refused + o.Refused, a.Limited + o.Limited, a.Failed + o.Failed}
}

func (a Answers) counts() Counts {
	return Counts{Requests: a.Total(), Errors: a.Refused + a.Failed, Limited: a.Limited}
}

// class returns the index of the count in Answers to which a status belongs.
func class(status int) int {
	switch {
	case status == 429:
		return 2
	case status >= 500:
		return 3
	case status >= 400:
		return 1
	}
	return 0
}

func one(status int) Answers {
	var c counter
	c.count(status)
	return c.read()
}

// counter counts an agent's requests to one endpoint since the last flush, by class.
type counter [4]atomic.Int64

func (c *counter) count(status int) { c[class(status)].Add(1) }

func (c *counter) take() Answers {
	return Answers{c[0].Swap(0), c[1].Swap(0), c[2].Swap(0), c[3].Swap(0)}
}

func (c *counter) read() Answers {
	return Answers{c[0].Load(), c[1].Load(), c[2].Load(), c[3].Load()}
}

func (c *counter) add(n Answers) {
	for i, v := range [4]int64{n.OK, n.Refused, n.Limited, n.Failed} {
		c[i].Add(v)
	}
}

// counters count an agent's requests since the last flush, by endpoint.
type counters map[endpoint]*counter

func (m counters) read() (sum Answers) {
	for _, c := range m {
		sum = sum.plus(c.read())
	}
	return sum
}

// usageEndpoint is a row with the counts of an agent's requests to one endpoint in one hour.
type usageEndpoint struct {
	bun.BaseModel `bun:"table:agent_endpoints,alias:w"`

	AgentID uuid.UUID `bun:",pk"`
	Hour    time.Time `bun:",pk"`
	Method  string    `bun:",pk"`
	Route   string    `bun:",pk"`
	Answers
}

func inOrder(a, b usageEndpoint) int {
	return cmp.Or(bytes.Compare(a.AgentID[:], b.AgentID[:]), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Route, b.Route))
}

func writeEndpoints(ctx context.Context, tx bun.Tx, rows []usageEndpoint) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := tx.NewInsert().Model(&rows).On("CONFLICT (agent_id, hour, method, route) DO UPDATE").
		Set("ok = w.ok + EXCLUDED.ok").
		Set("refused = w.refused + EXCLUDED.refused").
		Set("limited = w.limited + EXCLUDED.limited").
		Set("failed = w.failed + EXCLUDED.failed").Exec(ctx)
	return err
}

// Endpoint counts an agent's requests to one endpoint.
type Endpoint struct {
	Method string
	Route  string // "" for addresses that don't exist
	Answers
	Hours []int64 // requests by hour, the current one last
}

// Endpoints returns the counts of an agent's requests to each endpoint in the last n hours, the
// most requested first. Requests to other nodes may be missing for ten seconds.
func (u *Usage) Endpoints(ctx context.Context, db bun.IDB, agentID uuid.UUID, n int) ([]Endpoint, error) {
	now := u.now().UTC().Truncate(time.Hour)
	from := now.Add(-time.Duration(n-1) * time.Hour)
	var rows []usageEndpoint
	if err := db.NewSelect().Model(&rows).Where("agent_id = ?", agentID).Where("hour >= ?", from).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read usage by endpoint: %w", err)
	}
	u.mu.RLock()
	for at, c := range u.counts[agentID] {
		rows = append(rows, usageEndpoint{Hour: now, Method: at.method, Route: at.route, Answers: c.read()})
	}
	u.mu.RUnlock()
	found := map[endpoint]*Endpoint{}
	for _, row := range rows {
		at := endpoint{row.Method, row.Route}
		e := found[at]
		if e == nil {
			e = &Endpoint{Method: row.Method, Route: row.Route, Hours: make([]int64, n)}
			found[at] = e
		}
		e.Answers = e.plus(row.Answers)
		if i := int(row.Hour.Sub(from) / time.Hour); i >= 0 && i < n {
			e.Hours[i] += row.Total()
		}
	}
	list := make([]Endpoint, 0, len(found))
	for _, e := range found {
		if e.Total() > 0 {
			list = append(list, *e)
		}
	}
	slices.SortFunc(list, func(a, b Endpoint) int {
		return cmp.Or(cmp.Compare(b.Total(), a.Total()), cmp.Compare(a.Route, b.Route), cmp.Compare(a.Method, b.Method))
	})
	return list, nil
}
