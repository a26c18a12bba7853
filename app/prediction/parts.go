package prediction

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/problem"
)

// Some interfaces send a prediction in two parts, its confidence and its thesis, in either order. A prediction
// is final, so the first part is kept until the other one arrives, and both are published as one. A confidence
// waits for PartPatience and is then published alone. A thesis waits for thesisPatience and is then discarded.
//
// prediction_parts has one row for each agent and market. Until the row has both parts, it is waiting, and a
// new part of the same kind replaces the old one. A new thesis waits for the whole thesisPatience. A new confidence
// waits no longer than the first one, because the confidences of an agent that sends one every minute would never be
// published. A row with both parts is being published; a confidence that is published alone first gets the thesis
// WithoutThesis. The row's id is the Idempotency-Key, so a node that continues another node's work doesn't publish
// it again. A published row stays for PartsKept, so that a repeated part is recognised.

const (
	// PartPatience is how long the first confidence, and those that replace it, wait for a thesis.
	PartPatience = 2 * time.Minute
	// thesisPatience is how long a thesis waits for a confidence. For the same time after publication, a part
	// that equals the published one counts as a repeat.
	thesisPatience = 10 * time.Minute
	// PartsKept is how long a row is kept after its BeganAt.
	PartsKept = 24 * time.Hour
	// WithoutThesis is the thesis of a confidence that was published alone.
	WithoutThesis = "Published without a comment."
	// maxParts is how many waiting confidences one call of PublishParts publishes.
	maxParts = 100
)

// Part is one part of a prediction that a market's outcome is Yes: its confidence or its thesis.
type Part struct {
	Agent      agent.Agent
	MarketID   string
	Confidence *float64 // nil if the part is the thesis
	Thesis     string
}

// parts is a row of prediction_parts.
type parts struct {
	bun.BaseModel `bun:"table:prediction_parts,alias:s"`

	AgentID     uuid.UUID `bun:",pk,type:uuid"`
	MarketID    string    `bun:",pk"`
	ID          uuid.UUID `bun:",type:uuid"` // of this attempt to join two parts
	Confidence  *float64
	Thesis      string    `bun:",nullzero"`
	BeganAt     time.Time // when the thesis arrived, or the first confidence if it arrived earlier
	PublishedAt time.Time `bun:",nullzero"`
}

func (s *parts) published() bool { return !s.PublishedAt.IsZero() }
func (s *parts) complete() bool  { return s.Confidence != nil && s.Thesis != "" }

// AddPart keeps a part until the other one arrives, or publishes both. It returns the id of the attempt and
// whether its prediction is now published. It refuses a thesis that arrives after its confidence was published
// alone (invalid_request), and a publication that Publish refuses. Call CheckPart first, so that a part which can't
// be published isn't kept.
func (p *Publisher) AddPart(ctx context.Context, part Part) (id uuid.UUID, published bool, err error) {
	for {
		s, unfinished, err := p.keepPart(ctx, part)
		if err != nil || s.published() {
			return s.ID, err == nil, err
		}
		if !s.complete() {
			return s.ID, false, nil
		}
		refusal, err := p.publishParts(ctx, part.Agent, s)
		if err = errors.Join(refusal, err); err != nil || !unfinished {
			return s.ID, err == nil, err
		}
	}
}

// CheckPart refuses a part that Publish would refuse. It stores nothing.
func (p *Publisher) CheckPart(ctx context.Context, part Part) error {
	d := draftOf(part.MarketID, cmp.Or(part.Confidence, new(0.5)), cmp.Or(part.Thesis, WithoutThesis))
	if wrong := d.Check(p.now()); len(wrong) > 0 {
		return problem.InvalidPrediction(wrong...)
	}
	_, err := p.Publish(ctx, Submission{Agent: part.Agent, Draft: d, DryRun: true, Render: func(Receipt) ([]byte, error) { return nil, nil }})
	return err
}

// draftOf returns the draft of two parts. It gets a default horizon, because parts have none.
func draftOf(marketID string, confidence *float64, thesis string) Draft {
	return Draft{MarketID: marketID, Confidence: confidence, Thesis: thesis, DefaultHorizon: true}
}

// keepPart stores a part. unfinished says that the row already had both parts. In that case the part isn't
// stored, and the caller must first publish the row.
func (p *Publisher) keepPart(ctx context.Context, part Part) (s *parts, unfinished bool, err error) {
	err = p.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := checkOpen(ctx, tx, part.Agent.ID); err != nil {
			return err
		}
		now := database.Stored(p.now())
		if s, err = p.lockParts(ctx, tx, part, now); err != nil {
			return err
		}
		if unfinished = s.complete() && !s.published(); unfinished {
			return nil
		}
		if err := p.add(s, part, now); err != nil {
			return err
		}
		_, err := tx.NewUpdate().Model(s).WherePK().Exec(ctx)
		return err
	})
	if err != nil {
		if _, refused := errors.AsType[*problem.Error](err); !refused {
			err = fmt.Errorf("keep a part of a prediction: %w", err)
		}
		return &parts{}, false, err
	}
	return s, unfinished, nil
}

// checkOpen returns account_closed if the account is closed, and otherwise keeps it open until tx ends. Without it, a
// part could be stored after the closing has deleted the parts.
func checkOpen(ctx context.Context, tx bun.Tx, agentID uuid.UUID) error {
	if err := LockTallies(ctx, tx, []uuid.UUID{agentID}); err != nil {
		return err
	}
	open := map[uuid.UUID]agent.Author{}
	err := database.ScanReads(ctx, tx, agent.OpenAmong([]uuid.UUID{agentID}, open))
	if _, is := open[agentID]; err == nil && !is {
		err = agent.AccountClosed()
	}
	return err
}

// lockParts locks the row of an agent and a market. It inserts the row if there is none. One statement does both, with
// an update that changes nothing, so that no other transaction can delete the row in between.
func (p *Publisher) lockParts(ctx context.Context, tx bun.Tx, part Part, now time.Time) (*parts, error) {
	s := &parts{AgentID: part.Agent.ID, MarketID: part.MarketID, BeganAt: now}
	s.ID = p.attempt(s, now)
	err := tx.NewInsert().Model(s).On("CONFLICT (agent_id, market_id) DO UPDATE").Set("began_at = s.began_at").Returning("?Columns").Scan(ctx)
	s.BeganAt, s.PublishedAt = s.BeganAt.UTC(), s.PublishedAt.UTC()
	return s, err
}

// attempt returns the id of the next attempt, which follows the one in row s. With a Seed, the id depends only
// on the agent, the market and the earlier attempts. So does the prediction's id.
func (p *Publisher) attempt(s *parts, now time.Time) uuid.UUID {
	if p.Seed == nil {
		return database.NewID(now)
	}
	return uuid.NewSHA1(s.ID, fmt.Appendf(nil, "%s %s", s.AgentID, s.MarketID))
}

// over reports whether thesisPatience has passed since a time. A time that only a clock ahead can have given counts as
// long past.
func over(at, now time.Time) bool {
	return now.Sub(at) > thesisPatience || at.After(database.LatestPlausible(now))
}

// add adds a part to a row that isn't being published.
func (p *Publisher) add(s *parts, part Part, now time.Time) error {
	if s.published() && !over(s.PublishedAt, now) {
		switch {
		case part.Confidence != nil && *part.Confidence == *s.Confidence, part.Confidence == nil && part.Thesis == s.Thesis:
			return nil // a repeat
		case part.Confidence == nil && s.Thesis == WithoutThesis:
			return problem.InvalidRequest(problem.Field{Field: "text", Message: fmt.Sprintf(
				"comes too late: the probability was published alone at %s, and a prediction can't be edited. Send a comment within %d minutes of your first probability, or before it",
				s.PublishedAt.Format(time.RFC3339), int(PartPatience/time.Minute))})
		}
	}
	if s.published() || (s.Confidence == nil && over(s.BeganAt, now)) {
		*s = parts{AgentID: s.AgentID, MarketID: s.MarketID, ID: p.attempt(s, now), BeganAt: now}
	}
	if part.Confidence != nil {
		s.Confidence = part.Confidence
	} else {
		s.Thesis = part.Thesis
		if s.Confidence == nil {
			s.BeganAt = now
		}
	}
	return nil
}

// publishParts publishes a row that has both parts. If the publication is refused for good, it deletes the
// row and returns the refusal.
func (p *Publisher) publishParts(ctx context.Context, a agent.Agent, s *parts) (refusal, err error) {
	// An expired Idempotency-Key can't tell any more that a node published the row before it crashed.
	if p.now().Sub(s.BeganAt) >= AnswersKept {
		latest, err := LatestOf(ctx, p.db.Reader, s.AgentID, []string{s.MarketID})
		if err != nil {
			return nil, err
		}
		if l, ok := latest[s.MarketID]; ok && l.Confidence == *s.Confidence && !l.CreatedAt.Before(s.BeganAt) {
			return nil, p.endParts(ctx, s, markPublished, database.Stored(p.now()))
		}
	}
	d := draftOf(s.MarketID, s.Confidence, s.Thesis)
	if wrong := d.Check(p.now()); len(wrong) > 0 {
		err = problem.InvalidPrediction(wrong...)
	} else {
		_, err = p.Publish(ctx, Submission{
			Agent: a, Draft: d, IdempotencyKey: "part-" + s.ID.String(), BodyHash: sha256.Sum256(s.ID[:]),
			Render: func(r Receipt) ([]byte, error) { return []byte(r.Record.ID.String()), nil },
		})
	}
	if r, ok := errors.AsType[*problem.Error](err); ok && r.Status < 500 {
		return err, p.endParts(ctx, s, forgetParts)
	}
	if err != nil {
		return nil, err
	}
	return nil, p.endParts(ctx, s, markPublished, database.Stored(p.now()))
}

const (
	markPublished = "UPDATE prediction_parts SET published_at = ? WHERE agent_id = ? AND market_id = ? AND id = ?"
	forgetParts   = "DELETE FROM prediction_parts WHERE agent_id = ? AND market_id = ? AND id = ?"
)

func (p *Publisher) endParts(ctx context.Context, s *parts, query string, args ...any) error {
	return p.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewRaw(query, append(args, s.AgentID, s.MarketID, s.ID)...).Exec(ctx); err != nil {
			return fmt.Errorf("end the parts of a prediction: %w", err)
		}
		return nil
	})
}

// PublishParts publishes the confidences that arrived before the given time and wait for a thesis, oldest
// first. One from the future arrived while a clock was ahead, and doesn't wait until then. It also publishes rows with
// both parts whose publication was interrupted. more reports whether some may be left. A refused one doesn't stop the
// others.
func (p *Publisher) PublishParts(ctx context.Context, before time.Time) (more bool, err error) {
	var list []parts
	err = selectWaiting(p.db.Reader.NewSelect().Model(&list)).
		Where("?", database.UpTo("s.began_at", before, before)).OrderExpr("s.began_at").Limit(maxParts).Scan(ctx)
	if err != nil {
		return false, fmt.Errorf("look for waiting parts: %w", err)
	}
	var failed []error
	for i := range list {
		failed = append(failed, p.publishWaiting(ctx, &list[i]))
	}
	err = errors.Join(failed...)
	return len(list) == maxParts && err == nil, err
}

// publishWaiting publishes a row that PublishParts found, or deletes it if its agent is disabled. A refusal for
// good, such as one of a closed market, isn't an error.
func (p *Publisher) publishWaiting(ctx context.Context, s *parts) error {
	a, err := agent.Store{}.ByID(ctx, p.db.Reader, s.AgentID)
	if err != nil {
		return err
	}
	if a.Status == agent.Disabled {
		return p.endParts(ctx, s, forgetParts)
	}
	if s, err = p.complete(ctx, s); err != nil || s == nil {
		return err
	}
	_, err = p.publishParts(ctx, *a, s)
	return err
}

// complete adds the default thesis to a row that has only a confidence. So a thesis that arrives from now on is refused
// and not lost. It returns the row as it is then, or nil if it needs no publication any more.
func (p *Publisher) complete(ctx context.Context, found *parts) (s *parts, err error) {
	err = p.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		s = &parts{AgentID: found.AgentID, MarketID: found.MarketID}
		err := database.ForUpdate(tx.NewSelect().Model(s).WherePK().Where("id = ?", found.ID).Where("published_at IS NULL")).Scan(ctx)
		if errors.Is(err, sql.ErrNoRows) {
			s = nil
			return nil
		}
		if err != nil || s.Thesis != "" {
			return err
		}
		s.Thesis = WithoutThesis
		_, err = tx.NewUpdate().Model(s).Column("thesis").WherePK().Exec(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("complete the parts of a prediction: %w", err)
	}
	return s, nil
}

// PartsWait reports whether any confidence waits for a thesis.
func PartsWait(ctx context.Context, db bun.IDB) (bool, error) {
	found, err := selectWaiting(db.NewSelect().Model((*parts)(nil))).Exists(ctx)
	if err != nil {
		return false, fmt.Errorf("look for waiting parts: %w", err)
	}
	return found, nil
}

// ForgetParts deletes one batch of expired rows. more reports whether some may be left. It deletes none while one of
// them is still to be published, as after a day without a worker.
func (p *Publisher) ForgetParts(ctx context.Context) (more bool, err error) {
	before := p.now().Add(-PartsKept)
	waits, err := selectWaiting(p.db.NewSelect().Model((*parts)(nil))).Where("s.began_at < ?", database.Stored(before)).Exists(ctx)
	if err != nil {
		return false, fmt.Errorf("look for expired parts: %w", err)
	}
	if waits {
		return false, nil
	}
	return database.Prune(ctx, p.db, "prediction_parts", "began_at", before, "agent_id", "market_id")
}

// selectWaiting selects the rows whose confidence isn't published yet.
func selectWaiting(q *bun.SelectQuery) *bun.SelectQuery {
	return q.Where("s.published_at IS NULL").Where("s.confidence IS NOT NULL")
}

// WaitingPart is a confidence that waits for a thesis.
type WaitingPart struct {
	Confidence float64
	BeganAt    time.Time // see parts
}

// WaitingParts returns an agent's confidences that wait for a thesis on the given markets, by market.
func WaitingParts(ctx context.Context, db bun.IDB, agentID uuid.UUID, marketIDs []string) (map[string]*WaitingPart, error) {
	found := map[string]*WaitingPart{}
	if len(marketIDs) == 0 {
		return found, nil
	}
	var list []parts
	err := selectWaiting(db.NewSelect().Model(&list)).Where("s.agent_id = ?", agentID).Where("s.market_id IN (?)", bun.List(marketIDs)).
		Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read waiting parts: %w", err)
	}
	for i := range list {
		found[list[i].MarketID] = &WaitingPart{*list[i].Confidence, list[i].BeganAt.UTC()}
	}
	return found, nil
}
