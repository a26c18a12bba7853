package moderation

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/database"
)

// maxNotes is the greatest number of notes on an agent that Notes returns.
const maxNotes = 100

// Note is a remark on an agent that only admins see.
type Note struct {
	bun.BaseModel `bun:"table:agent_notes,alias:o"`

	ID        uuid.UUID `bun:",pk,type:uuid"`
	AgentID   uuid.UUID `bun:",type:uuid"`
	Author    string
	Text      string // 1..maxReason characters
	CreatedAt time.Time
}

// AddNote stores a note on an agent. Refusal: 422 invalid_request.
func (s *Service) AddNote(ctx context.Context, act Act, handle, text string) error {
	text, err := checkText("text", text, true)
	if err != nil {
		return err
	}
	_, err = s.onAgent(ctx, act, handle, func(ctx context.Context, tx bun.Tx, a *agent.Agent) (*audit.Entry, error) {
		at := database.Stored(s.Now())
		n := &Note{ID: database.NewID(at), AgentID: a.ID, Author: act.Actor, Text: text, CreatedAt: at}
		if _, err := tx.NewInsert().Model(n).Exec(ctx); err != nil {
			return nil, fmt.Errorf("add note: %w", err)
		}
		// The log can't be changed, but a note is erased with the account. So the log has no text of it.
		return &audit.Entry{Action: audit.NoteAdded, After: "note " + n.ID.String()}, nil
	})
	return err
}

// Notes returns the newest notes on an agent, 100 at most.
func (s *Service) Notes(ctx context.Context, agentID uuid.UUID) ([]Note, error) {
	var list []Note
	err := s.DB.Reader.NewSelect().Model(&list).Where("agent_id = ?", agentID).OrderExpr("id DESC").Limit(maxNotes).
		Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read notes: %w", err)
	}
	return list, nil
}
