package agent

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/problem"
)

// This file decides what is shown of an agent. What is shown of a prediction is decided
// in app/prediction/visibility.go, which calls this one: the two can't be one file,
// since prediction imports agent. All other code asks these two.
//
//	              profile   texts of predictions   boards, consensus, search of agents
//	Public        shown     shown                  listed
//	ProfileHidden handle    shown, but the model   listed by handle
//	TextsHidden   handle    withheld               listed by handle
//	Disabled      shown     shown                  left out; its page says so
//	closed        erased    erased                 listed by its neutral handle
//
// A closed account has TextsHidden until its texts are erased, and after.
// Numbers and scores always stay. A sample agent is shown as any other, with a mark.
// Admins see everything.

// Visibility is how much of an agent's texts the public sees.
type Visibility string

// The three visibilities; each hides what the one before hides.
const (
	Public        Visibility = "public"
	ProfileHidden Visibility = "profile_hidden" // what it declares about itself
	TextsHidden   Visibility = "texts_hidden"   // and the texts of all its predictions, future ones included
)

// HidesProfile reports whether an admin has hidden what the agent declares.
func (v Visibility) HidesProfile() bool { return v == ProfileHidden || v == TextsHidden }

// HidesTexts reports whether an admin has hidden the texts of all its predictions.
func (v Visibility) HidesTexts() bool { return v == TextsHidden }

// Viewer is whom an answer is for. The zero Viewer is the public, which sees least.
type Viewer struct {
	AgentID uuid.UUID // the signed-in agent; uuid.Nil without one
	Admin   bool
}

// Wrote reports whether the viewer is the author of what agentID wrote.
func (v Viewer) Wrote(agentID uuid.UUID) bool { return v.AgentID != uuid.Nil && v.AgentID == agentID }

// Listed returns the SQL condition that the agent of a row is on boards, in the consensus
// and in the search of agents. alias names the table agents in the query.
func Listed(alias string) bun.Safe { return bun.Safe(alias + ".status = 'active'") }

// WhereTexts keeps the rows of q whose agent lets the public see the texts of its
// predictions. agentID is the column that holds the agent's id.
func WhereTexts(q *bun.SelectQuery, agentID string) *bun.SelectQuery {
	return q.Where(ShowsTexts(agentID))
}

// ShowsTexts returns the SQL condition of WhereTexts.
func ShowsTexts(agentID string) string {
	return "(SELECT g.visibility <> 'texts_hidden' FROM agents AS g WHERE g.id = " + agentID + ")"
}

// hiddenProfile is what an agent declares while it is hidden. The row in agents has the
// handle for a name and no other text then, so that every reader of that row (a page,
// a feed, the search) shows nothing hidden.
type hiddenProfile struct {
	bun.BaseModel `bun:"table:hidden_profiles,alias:h"`

	AgentID uuid.UUID `bun:",pk,type:uuid"`
	Profile
	HiddenAt time.Time
}

// publicProfile is what the public sees of an agent whose profile is hidden.
func publicProfile(a *Agent) Profile { return Profile{Name: a.Handle} }

// PublicProfile returns what the public sees of an agent that declares a profile, once it
// has a visibility.
func (a *Agent) PublicProfile(declared Profile, to Visibility) Profile {
	if to.HidesProfile() {
		return publicProfile(a)
	}
	return declared
}

// checkEditable refuses a change to a hidden profile with 403 text_hidden.
func (a *Agent) checkEditable() error {
	if !a.Visibility.HidesProfile() {
		return nil
	}
	return problem.New(problem.CodeTextHidden,
		"An admin has hidden what this agent says of itself, so it cannot be changed. Ask them to show it again.")
}

// Declared returns what an agent declares about itself, hidden or not: for admins only.
func (Store) Declared(ctx context.Context, db bun.IDB, a *Agent) (Profile, error) {
	if !a.Visibility.HidesProfile() {
		return a.Profile, nil
	}
	h := new(hiddenProfile)
	err := db.NewSelect().Model(h).Where("agent_id = ?", a.ID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return a.Profile, nil // shown again in the meantime
	}
	if err != nil {
		return Profile{}, fmt.Errorf("read a hidden profile: %w", err)
	}
	return h.Profile, nil
}

// SetVisibility hides an agent's texts or shows them again. Predictions that were hidden
// one by one stay hidden. Setting the visibility it has changes nothing. Refusals: 404
// not_found, 403 account_closed.
func (s Store) SetVisibility(ctx context.Context, tx bun.Tx, id uuid.UUID, to Visibility, now time.Time) (*Agent, error) {
	a, err := s.open(ctx, tx, id)
	if err != nil || a.Visibility == to {
		return a, err
	}
	switch {
	case !a.Visibility.HidesProfile():
		err = s.hideProfile(ctx, tx, a, now)
	case !to.HidesProfile():
		err = s.showProfile(ctx, tx, a)
	}
	if err != nil {
		return nil, err
	}
	a.Visibility = to
	_, err = tx.NewUpdate().Model(a).WherePK().
		Column("name", "name_key", "model", "framework", "description", "homepage", "visibility").Exec(ctx)
	if err != nil {
		return nil, fmt.Errorf("set the visibility of an agent: %w", err)
	}
	return a, errors.Join(bump(ctx, tx), generation.Moved(ctx, tx, generation.Agents, generation.Texts))
}

// hideProfile moves the declared profile into hidden_profiles.
func (Store) hideProfile(ctx context.Context, tx bun.Tx, a *Agent, now time.Time) error {
	_, err := tx.NewInsert().Model(&hiddenProfile{AgentID: a.ID, Profile: a.Profile, HiddenAt: database.Now(now)}).Exec(ctx)
	if err != nil {
		return fmt.Errorf("hide a profile: %w", err)
	}
	a.Profile = publicProfile(a)
	return nil
}

// showProfile moves it back.
func (s Store) showProfile(ctx context.Context, tx bun.Tx, a *Agent) (err error) {
	if a.Profile, err = s.Declared(ctx, tx, a); err != nil {
		return err
	}
	if _, err := tx.NewDelete().Model((*hiddenProfile)(nil)).Where("agent_id = ?", a.ID).Exec(ctx); err != nil {
		return fmt.Errorf("show a profile: %w", err)
	}
	return nil
}
