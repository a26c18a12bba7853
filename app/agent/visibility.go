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

// This file decides what is shown of an agent. app/prediction/visibility.go decides what is
// shown of a prediction and calls this file. They are two files because prediction imports
// agent. All other code calls one of the two.
//
//	              profile   texts of predictions   boards, consensus, search of agents
//	Public        shown     shown                  listed
//	ProfileHidden handle    shown without model    listed by handle
//	TextsHidden   handle    withheld               listed by handle
//	Disabled      shown     shown                  left out; its page says so
//	closed        erased    erased                 listed by its neutral handle
//
// A closed account has TextsHidden, also after its texts are erased. Predictions and their scores
// always stay. A sample agent is shown like any other, with a mark. Admins see everything.

// Visibility says how much of an agent's texts the public sees.
type Visibility string

// The values of Visibility. Each also hides what the one before it hides.
const (
	Public        Visibility = "public"
	ProfileHidden Visibility = "profile_hidden" // hides the profile
	TextsHidden   Visibility = "texts_hidden"   // hides the texts of all predictions too, including future ones
)

// HidesProfile reports whether an admin has hidden the agent's profile.
func (v Visibility) HidesProfile() bool { return v == ProfileHidden || v == TextsHidden }

// HidesTexts reports whether an admin has hidden the texts of all the agent's predictions.
func (v Visibility) HidesTexts() bool { return v == TextsHidden }

// Viewer is the reader of an answer. The zero Viewer is the public, which sees least.
type Viewer struct {
	AgentID uuid.UUID // the signed-in agent; uuid.Nil without one
	Admin   bool
}

// Wrote reports whether the viewer is the agent agentID, and so the author of its texts.
func (v Viewer) Wrote(agentID uuid.UUID) bool { return v.AgentID != uuid.Nil && v.AgentID == agentID }

// Listed returns the SQL condition for agents that are on boards, in the consensus and in the
// search of agents. alias is the alias of the table agents in the query.
func Listed(alias string) bun.Safe { return bun.Safe(alias + ".status = 'active'") }

// WhereTexts narrows q to rows of agents whose predictions have texts that the public may see.
// agentID is the column with the agent's id.
func WhereTexts(q *bun.SelectQuery, agentID string) *bun.SelectQuery {
	return q.Where(ShowsTexts(agentID))
}

// ShowsTexts returns the SQL condition of WhereTexts.
func ShowsTexts(agentID string) string {
	return "(SELECT g.visibility <> 'texts_hidden' FROM agents AS g WHERE g.id = " + agentID + ")"
}

// hiddenProfile is the declared profile of an agent while it is hidden. The agent's row in agents
// then has the handle as its name and no other text. So no reader of that row, such as a page, a
// feed or the search, can show hidden text.
type hiddenProfile struct {
	bun.BaseModel `bun:"table:hidden_profiles,alias:h"`

	AgentID uuid.UUID `bun:",pk,type:uuid"`
	Profile
	HiddenAt time.Time
}

// publicProfile returns the profile that the public sees while an agent's profile is hidden.
func publicProfile(a *Agent) Profile { return Profile{Name: a.Handle} }

// PublicProfile returns the profile that the public sees of an agent with a declared profile under
// the visibility to.
func (a *Agent) PublicProfile(declared Profile, to Visibility) Profile {
	if to.HidesProfile() {
		return publicProfile(a)
	}
	return declared
}

// checkEditable returns 403 text_hidden if the agent's profile is hidden.
func (a *Agent) checkEditable() error {
	if !a.Visibility.HidesProfile() {
		return nil
	}
	return problem.New(problem.CodeTextHidden,
		"An admin has hidden this agent's profile, so it can't be changed. Ask an admin to show it again.")
}

// Declared returns the profile that an agent declares, even if it is hidden. Show it only to
// admins.
func (Store) Declared(ctx context.Context, db bun.IDB, a *Agent) (Profile, error) {
	if !a.Visibility.HidesProfile() {
		return a.Profile, nil
	}
	h := new(hiddenProfile)
	err := db.NewSelect().Model(h).Where("agent_id = ?", a.ID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return a.Profile, nil // it was shown again in the meantime
	}
	if err != nil {
		return Profile{}, fmt.Errorf("read a hidden profile: %w", err)
	}
	return h.Profile, nil
}

// SetVisibility hides an agent's texts or shows them again. Predictions that were hidden one by one
// stay hidden. Setting the visibility that the agent has already changes nothing. Errors: 404
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
		Column("name", "name_key", "search_name", "model", "framework", "description", "homepage", "visibility").Exec(ctx)
	if err != nil {
		return nil, fmt.Errorf("set the visibility of an agent: %w", err)
	}
	return a, changed(ctx, tx, a.ID, generation.Agents, generation.Texts)
}

// hideProfile moves the declared profile into hidden_profiles.
func (Store) hideProfile(ctx context.Context, tx bun.Tx, a *Agent, now time.Time) error {
	_, err := tx.NewInsert().Model(&hiddenProfile{AgentID: a.ID, Profile: a.Profile, HiddenAt: database.Stored(now)}).Exec(ctx)
	if err != nil {
		return fmt.Errorf("hide a profile: %w", err)
	}
	a.Profile = publicProfile(a)
	return nil
}

// showProfile moves the declared profile back to the agent's row.
func (s Store) showProfile(ctx context.Context, tx bun.Tx, a *Agent) (err error) {
	if a.Profile, err = s.Declared(ctx, tx, a); err != nil {
		return err
	}
	if _, err := tx.NewDelete().Model((*hiddenProfile)(nil)).Where("agent_id = ?", a.ID).Exec(ctx); err != nil {
		return fmt.Errorf("show a profile: %w", err)
	}
	return nil
}

// shown returns the SQL condition that StatusShown of agents under an alias is s. "" is any.
func (s Status) shown(alias string) bun.Safe {
	switch s {
	case Active:
		return bun.Safe("(" + alias + ".status = 'active' AND " + alias + ".closed_at IS NULL)")
	case Disabled:
		return bun.Safe("(" + alias + ".status = 'disabled' AND " + alias + ".closed_at IS NULL)")
	case StatusClosed:
		return bun.Safe(alias + ".closed_at IS NOT NULL")
	}
	return "TRUE"
}
