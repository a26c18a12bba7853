package agent

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
)

const (
	// partLength is the most characters of a part in agent_label_parts. The migration has the same number.
	partLength = 24
	// lastRune sorts after every character of a part.
	lastRune = "\U0010FFFF"
	// maxExamined is the most parts that a search examines for a page. examinedPerAgent is their number
	// for each agent on the page: a handle and a name often contain the same text.
	maxExamined, examinedPerAgent = 500, 8
	// byPart marks the cursor of a search.
	byPart = "parts"
)

// part is a row of agent_label_parts.
type part struct {
	Part     string
	AgentID  uuid.UUID `bun:",type:uuid"`
	Position int64
	Fits     bool
}

// containing returns a page of the agents whose handle or name contains f.Q.
func (s Store) containing(ctx context.Context, db bun.IDB, f Filter) (page []*Agent, next string, err error) {
	examined, more, err := f.examine(ctx, db)
	if err != nil {
		return nil, "", err
	}
	if more {
		next = examined[len(examined)-1].cursor()
	}
	var ids []uuid.UUID
	for i := range examined {
		if !examined[i].Fits {
			continue
		}
		if len(ids) == f.Limit {
			break
		}
		if ids = append(ids, examined[i].AgentID); len(ids) == f.Limit && (more || i < len(examined)-1) {
			next = examined[i].cursor()
		}
	}
	found, err := s.ByIDs(ctx, db, ids)
	if err != nil {
		return nil, "", err
	}
	page = make([]*Agent, 0, len(ids))
	for _, id := range ids {
		if a := found[id]; a != nil {
			page = append(page, a)
		}
	}
	return page, next, nil
}

// examine reads the next parts that begin with f.Q, in order, and whether there may be more. A part
// fits if it is the first in its label to contain f.Q, and f selects its agent.
func (f *Filter) examine(ctx context.Context, db bun.IDB) (examined []part, more bool, err error) {
	words := fold(f.Q)
	start := words
	if runes := []rune(words); len(runes) > partLength {
		start = string(runes[:partLength])
	}
	p := database.NewPlanned(db)
	find, text := "instr", func(v string) any { return p.Value(v) }
	if database.IsPostgres(db) {
		// As a subquery, a text doesn't make Postgres plan the search anew.
		find, text = "strpos", func(v string) any { return bun.SafeQuery("(SELECT ?::text)", p.Value(v)) }
	}
	limit := min(examinedPerAgent*(f.Limit+1), maxExamined)
	within := db.NewSelect().TableExpr("agent_label_parts AS p").Column("p.part", "p.agent_id", "p.position").
		Where("p.part >= ?", text(start)).Where("p.part < ?", text(start+lastRune)).
		OrderExpr("p.part, p.agent_id, p.position").Limit(int64(limit))
	if f.Cursor != "" {
		after, err := readPart(f.Cursor)
		if err != nil {
			return nil, false, err
		}
		within.Where("(p.part, p.agent_id, p.position) > (?, ?, ?)",
			p.Value(after.Part), p.Value(after.AgentID), p.Value(after.Position))
	}
	selected := db.NewSelect().TableExpr("agents AS a").ColumnExpr("TRUE").Where("a.id = p.agent_id")
	f.narrow(selected)
	// Scalar subqueries look up each agent. For EXISTS, Postgres would read all agents.
	q := db.NewSelect().TableExpr("(?) AS p", within).ColumnExpr("p.*").
		ColumnExpr("COALESCE((SELECT ?(l.label, ?) = p.position FROM agent_labels AS l WHERE l.agent_id = p.agent_id), FALSE) AND COALESCE((?), FALSE) AS fits",
			bun.Safe(find), text(words), selected).
		OrderExpr("p.part, p.agent_id, p.position")
	if err := p.Scan(ctx, q, &examined); err != nil {
		return nil, false, fmt.Errorf("search agents: %w", err)
	}
	return examined, len(examined) == limit, nil
}

func (p *part) cursor() string {
	return cursor.Encode(byPart, p.Part, p.AgentID.String(), strconv.FormatInt(p.Position, 10))
}

// readPart returns the part that a cursor names.
func readPart(word string) (p part, err error) {
	parts, err := cursor.Decode(word, 4)
	if err != nil || parts[0] != byPart || !utf8.ValidString(parts[1]) || strings.ContainsRune(parts[1], 0) {
		return part{}, cursor.Invalid()
	}
	p.Part = parts[1]
	if p.AgentID, err = uuid.Parse(parts[2]); err != nil {
		return part{}, cursor.Invalid()
	}
	if p.Position, err = strconv.ParseInt(parts[3], 10, 64); err != nil {
		return part{}, cursor.Invalid()
	}
	return p, nil
}
