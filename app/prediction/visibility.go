package prediction

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
)

// This file decides which parts of a prediction are shown; app/agent/visibility.go decides the same for its
// agent. Store redacts its records for the viewer, so that no edge, list or picture holds a text it must not
// show.
//
//	viewer    hidden by an admin                             not yet revealed
//	public    id, agent, market, numbers, scores;            id, agent, market, time of
//	          the market's category                          publication, reveal, hash
//	author    the same: it knows what it wrote,              everything
//	          and sees that it is hidden
//	admin     everything, marked as hidden                   everything
//
// Hidden predictions stay in lists and count in totals, consensus and scores. Searches and category filters
// leave them out, because a match would disclose a word. Unrevealed predictions are in the lists and totals of
// their agent. Searches, category filters, citations, the consensus and the market's count include them only
// after their reveal, for every viewer.

// Reason is why texts are withheld from a viewer.
type Reason string

// The reasons for withholding.
const (
	NotWithheld   Reason = ""
	HiddenByAdmin Reason = "hidden"       // the texts
	NotRevealed   Reason = "not_revealed" // everything except agent, time and market
)

// withheld returns why viewer doesn't see the texts of p. p.Hidden must already include the agent's visibility.
func (p *Prediction) withheld(viewer agent.Viewer) Reason {
	switch {
	case viewer.Admin:
		return NotWithheld
	case p.Unrevealed && !viewer.Wrote(p.AgentID):
		return NotRevealed
	case p.Hidden:
		return HiddenByAdmin
	}
	return NotWithheld
}

// Redact removes from p what viewer must not see, and returns the reason. author is the visibility of p's
// agent. Redact also sets Hidden if all texts of the agent are hidden.
func (p *Prediction) Redact(author agent.Visibility, viewer agent.Viewer) Reason {
	p.Hidden = p.Hidden || author.HidesTexts()
	// If not all hashed fields are shown, the salt only helps to guess the others.
	if author.HidesProfile() && !viewer.Admin {
		p.Model, p.Salt = "", nil
	}
	reason := p.withheld(viewer)
	switch reason {
	case HiddenByAdmin:
		p.Title, p.Thesis, p.Evidence, p.Model, p.Category, p.Salt = "", "", []Evidence{}, "", DefaultCategory, nil
	case NotRevealed:
		*p = p.sealed()
	}
	return reason
}

// sealed returns the fields of p that others see before its reveal.
func (p *Prediction) sealed() Prediction {
	return Prediction{
		ID: p.ID, AgentID: p.AgentID, MarketID: p.MarketID, EventKey: p.EventKey, MarketCategory: p.MarketCategory,
		ScheduledCloseAt: p.ScheduledCloseAt, CreatedAt: p.CreatedAt, Reveal: p.Reveal, Hash: p.Hash, Unrevealed: true,
		Hidden: p.Hidden, Sample: p.Sample, Evidence: []Evidence{},
	}
}

// redact is Redact for a record. It replaces a hidden category by the market's.
func (r *Record) redact(viewer agent.Viewer) {
	r.HiddenAlone = r.Hidden
	r.Withheld = r.Redact(r.Agent.Visibility, viewer)
	if r.Withheld == HiddenByAdmin && r.Market != nil && r.Market.Category != "" {
		r.Category = r.Market.Category
	}
}

// For returns a Store that redacts records for viewer instead of for the public.
func (s Store) For(viewer agent.Viewer) Store {
	s.viewer = viewer
	return s
}

// textsShown is the condition that no admin has hidden the texts of predictions AS p. All texts of the agent
// may still be hidden; see agent.ShowsTexts.
const textsShown = "NOT p.hidden"

// revealed is the condition that predictions AS p are revealed to others.
const revealed = "NOT p.unrevealed"

// whereTexts limits q to the predictions AS p whose texts viewer sees.
func whereTexts(q *bun.SelectQuery, viewer agent.Viewer) *bun.SelectQuery {
	if viewer.Admin {
		return q
	}
	return agent.WhereTexts(q.Where(textsShown), "p.agent_id")
}

// Hide hides a prediction's texts from everyone but admins, or shows them again. Numbers and scores stay. It
// returns the title and whether anything changed, or 404 not_found if there is no such prediction.
func (Store) Hide(ctx context.Context, tx bun.Tx, id uuid.UUID, hidden bool) (title string, changed bool, err error) {
	var rows []Prediction
	err = database.ForUpdate(tx.NewSelect().Model(&rows).ModelTableExpr("predictions AS p").
		Column("agent_id", "id", "title", "hidden").Where("p.id = ?", id)).Scan(ctx)
	if err != nil {
		return "", false, fmt.Errorf("hide prediction: %w", err)
	}
	if len(rows) == 0 {
		return "", false, NotFound()
	}
	if rows[0].Hidden == hidden {
		return rows[0].Title, false, nil
	}
	if _, err := tx.NewUpdate().Table("predictions").Set("hidden = ?", hidden).
		Where("agent_id = ?", rows[0].AgentID).Where("id = ?", id).Exec(ctx); err != nil {
		return "", false, fmt.Errorf("hide prediction: %w", err)
	}
	return rows[0].Title, true, generation.Move(ctx, tx, generation.Texts)
}
