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
	"github.com/pulsecast/pulsecast/app/problem"
)

// Veil is how much of what an agent wrote an admin has hidden. Numbers and scores
// always stay.
type Veil string

// What can be hidden of an agent.
const (
	Unveiled     Veil = ""
	VeilsProfile Veil = "profile" // what it says of itself
	VeilsAll     Veil = "all"     // and the texts of all its predictions, those to come included
)

// hiddenProfile is what a veiled agent says of itself. The row in agents has its
// handle for a name and nothing else, so that whatever reads it, a page, a feed or
// the search, shows nothing that is hidden.
type hiddenProfile struct {
	bun.BaseModel `bun:"table:hidden_profiles,alias:h"`

	AgentID uuid.UUID `bun:",pk,type:uuid"`
	Profile
	HiddenAt time.Time
}

// errTextHidden: what is hidden cannot be changed until it is shown again.
func errTextHidden() error {
	return problem.New(problem.CodeTextHidden, "An admin has hidden what this agent says of itself, so it cannot be changed. Ask them to show it again.")
}

// Declared is what an agent says of itself, hidden or not: for admins only.
func (Store) Declared(ctx context.Context, db bun.IDB, a *Agent) (Profile, error) {
	if a.Veil == Unveiled {
		return a.Profile, nil
	}
	h := new(hiddenProfile)
	err := db.NewSelect().Model(h).Where("agent_id = ?", a.ID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return a.Profile, nil // shown again in between
	}
	if err != nil {
		return Profile{}, fmt.Errorf("read a hidden profile: %w", err)
	}
	return h.Profile, nil
}

// SetVeil hides what an agent wrote, or shows it again. What was hidden of single
// predictions stays as it is. Setting the veil it has changes nothing.
func (s Store) SetVeil(ctx context.Context, tx bun.Tx, id uuid.UUID, to Veil, now time.Time) (*Agent, error) {
	a, err := s.locked(ctx, tx, id)
	if err != nil || a.Veil == to {
		return a, err
	}
	switch {
	case a.Veil == Unveiled:
		err = s.putAway(ctx, tx, a, now)
	case to == Unveiled:
		err = s.takeOut(ctx, tx, a)
	}
	if err != nil {
		return nil, err
	}
	a.Veil = to
	_, err = tx.NewUpdate().Model(a).WherePK().Column("name", "model", "framework", "description", "homepage", "veil").Exec(ctx)
	if err != nil {
		return nil, fmt.Errorf("veil an agent: %w", err)
	}
	return a, errors.Join(bump(ctx, tx), TextsChanged(ctx, tx))
}

func (Store) putAway(ctx context.Context, tx bun.Tx, a *Agent, now time.Time) error {
	_, err := tx.NewInsert().Model(&hiddenProfile{AgentID: a.ID, Profile: a.Profile, HiddenAt: database.Now(now)}).Exec(ctx)
	if err != nil {
		return fmt.Errorf("hide a profile: %w", err)
	}
	a.Profile = Profile{Name: a.Handle}
	return nil
}

func (s Store) takeOut(ctx context.Context, tx bun.Tx, a *Agent) (err error) {
	if a.Profile, err = s.Declared(ctx, tx, a); err != nil {
		return err
	}
	if _, err := tx.NewDelete().Model((*hiddenProfile)(nil)).Where("agent_id = ?", a.ID).Exec(ctx); err != nil {
		return fmt.Errorf("show a profile again: %w", err)
	}
	return nil
}

// TextsChanged has every node forget, within half a second, the texts that it keeps
// in memory; see Generation.OnTexts. Call it in the transaction that hides or shows
// a text.
func TextsChanged(ctx context.Context, tx bun.Tx) error {
	if _, err := tx.ExecContext(ctx, "UPDATE credential_generation SET texts = texts + 1 WHERE id = 1"); err != nil {
		return fmt.Errorf("note that texts changed: %w", err)
	}
	return nil
}
