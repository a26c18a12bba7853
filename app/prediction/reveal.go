package prediction

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/gowebpki/jcs"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/problem"
)

// Reveal is when others see a prediction. visibility.go decides what they see before.
type Reveal string

// The three moments. Even a prediction that isn't revealed yet is binding from its publication: others see a
// hash of everything that is withheld.
const (
	RevealNow      Reveal = "now"
	RevealBaseline Reveal = "baseline" // once the baseline is fixed, or it is final that there is none
	RevealClose    Reveal = "close"    // once the market closes or its scheduled close passes
)

const (
	// saltSize is the number of random bytes in a salt. The salt prevents others from checking a guess against
	// the hash.
	saltSize = 32
	// revealChunk is how many predictions one transaction reveals.
	revealChunk = 50
)

// seal withholds p until its reveal and sets the hash that others see.
func (p *Prediction) seal(until Reveal) error {
	if p.Reveal = until; until == RevealNow {
		return nil
	}
	p.Unrevealed, p.Salt = true, make([]byte, saltSize)
	if _, err := rand.Read(p.Salt); err != nil {
		return fmt.Errorf("make a salt: %w", err)
	}
	said, err := p.canonical()
	if err != nil {
		return err
	}
	hash := sha256.Sum256(append([]byte(hex.EncodeToString(p.Salt)), said...))
	p.Hash = hash[:]
	return nil
}

// canonical returns the fields that the hash covers, in the API's names, as canonical JSON (RFC 8785). The hash
// is over the salt in lower-case hexadecimal digits, followed by this JSON.
func (p *Prediction) canonical() ([]byte, error) {
	evidence := make([]map[string]string, len(p.Evidence))
	for i, e := range p.Evidence {
		evidence[i] = map[string]string{"title": e.Title, "url": e.URL}
	}
	var model any
	if p.Model != "" {
		model = p.Model
	}
	said, err := json.Marshal(map[string]any{
		"title": p.Title, "thesis": p.Thesis, "confidence": p.Confidence, "horizonAt": p.HorizonAt.UTC(),
		"category": p.Category, "model": model, "evidence": evidence, "outcome": p.Outcome,
	})
	if err == nil {
		said, err = jcs.Transform(said)
	}
	if err != nil {
		return nil, fmt.Errorf("write a prediction as canonical JSON: %w", err)
	}
	return said, nil
}

// checkReveal refuses a reveal that the market doesn't allow. It also refuses a reveal that would disclose
// another prediction of the agent: the baseline is bounded by the agent's previous confidence on the same
// market.
func (known *facts) checkReveal(it *item, to link, at time.Time) error {
	switch until := cmp.Or(it.draft.Reveal, RevealNow); {
	case until != RevealNow && to.market == nil:
		return problem.InvalidPrediction(problem.Field{Field: "reveal",
			Message: fmt.Sprintf("%q needs marketId: without a market there is no baseline and no close. Send \"now\", or leave it out", until)})
	case until == RevealClose && !to.market.ClosesAt.IsZero() && !to.market.ClosesAt.After(at):
		return problem.InvalidPrediction(problem.Field{Field: "reveal",
			Message: "can't be \"close\": this market's scheduled close has passed, so others would see the prediction at once. Send \"baseline\" or \"now\""})
	case until != RevealClose && to.market != nil && known.untilClose[agentMarket{it.agentID, to.market.ID}]:
		return problem.InvalidPrediction(problem.Field{Field: "reveal",
			Message: `must be "close": you have a prediction on this market that is withheld until the close, and the baseline of this one would disclose its confidence`})
	}
	return nil
}

// OwnState is what decides whether an agent sees more than others.
type OwnState struct {
	Unrevealed      bool      // it has a prediction that others don't see yet
	LastPublishedAt time.Time // zero if it never published
}

// OwnState reads the state of an agent.
func (Store) OwnState(ctx context.Context, db bun.IDB, agentID uuid.UUID) (s OwnState, err error) {
	p := database.NewPlanned(db)
	me := p.Value(agentID)
	err = p.Scan(ctx, db.NewSelect().
		ColumnExpr("EXISTS (SELECT 1 FROM predictions AS p WHERE p.agent_id = ? AND p.unrevealed) AS unrevealed", me).
		ColumnExpr("(?) AS last_published_at", SelectTallies(db).Column("last_published_at").Where("t.agent_id = ?", me)), &s)
	if err != nil {
		return s, fmt.Errorf("read an agent's state: %w", err)
	}
	s.LastPublishedAt = s.LastPublishedAt.UTC()
	return s, nil
}

// RevealDue reveals the predictions whose baseline is final or whose market has closed, in transactions of 50
// predictions. It doesn't matter whether the agents are disabled or their accounts are closed. Settling reveals
// the predictions that it decides; RevealDue finds the others, including those left by an interrupted run.
func RevealDue(ctx context.Context, db *database.DB, now time.Time) error {
	for {
		// Try the reader first: on SQLite, taking the writer would delay publishing.
		keys, err := dueToReveal(ctx, db.Reader, now)
		if err != nil || len(keys) == 0 {
			return err
		}
		err = db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
			if err := LockTalliesOf(ctx, tx, keys); err != nil {
				return err
			}
			return reveal(ctx, tx, keys, "p.unrevealed", now)
		})
		if err != nil || len(keys) < revealChunk {
			return err
		}
	}
}

// dueToReveal lists the next predictions to reveal. Predictions that wait for a baseline were published within
// the last minutes. For those that wait for a close, one look-up in the index finds each market.
func dueToReveal(ctx context.Context, db bun.IDB, now time.Time) (keys []Key, err error) {
	err = db.NewRaw(`WITH RECURSIVE waiting (market_id) AS (
			SELECT MIN(p.market_id) FROM predictions AS p WHERE p.unrevealed AND p.reveal = 'close'
			UNION ALL
			SELECT (SELECT MIN(p.market_id) FROM predictions AS p WHERE p.unrevealed AND p.reveal = 'close' AND p.market_id > w.market_id)
			FROM waiting AS w WHERE w.market_id IS NOT NULL
		)
		SELECT agent_id, id FROM (
			SELECT p.agent_id, p.id FROM waiting AS w JOIN (?) AS m ON m.id = w.market_id
			JOIN predictions AS p ON p.market_id = w.market_id AND p.unrevealed AND p.reveal = 'close'
			WHERE m.closed OR m.closes_at <= ?
			UNION ALL
			SELECT p.agent_id, p.id FROM predictions AS p JOIN results AS r ON r.agent_id = p.agent_id AND r.id = p.id
			WHERE p.unrevealed AND p.reveal = 'baseline' AND r.baseline_state <> 'pending'
		) AS due LIMIT ?`, market.Select(db), now.UTC(), revealChunk).Scan(ctx, &keys)
	if err != nil {
		return nil, fmt.Errorf("look for predictions to reveal: %w", err)
	}
	return keys, nil
}

// RevealBaselines reveals the predictions among fixed whose Reveal is RevealBaseline. tx must hold the tallies
// of their agents.
func RevealBaselines(ctx context.Context, tx bun.Tx, fixed []Baseline, now time.Time) error {
	keys := make([]Key, len(fixed))
	for i, f := range fixed {
		keys[i] = Key{f.AgentID, f.ID}
	}
	return reveal(ctx, tx, keys, "p.unrevealed AND p.reveal = 'baseline'", now)
}

// RevealResolved reveals predictions that were decided with their market, so that no withheld prediction has a score.
// tx must hold the tallies of their agents.
func RevealResolved(ctx context.Context, tx bun.Tx, decided []Resolution, now time.Time) error {
	keys := make([]Key, len(decided))
	for i, d := range decided {
		keys[i] = Key{d.AgentID, d.ID}
	}
	return reveal(ctx, tx, keys, "p.unrevealed", now)
}

// RevealLeft reveals up to 50 predictions of a decided market that are still withheld until the close, and reports
// whether it found any. Those are predictions that an admin voided before, and predictions that wait for an admin. The
// market may never close, because its source may not know it any more. tx must not hold tallies.
func RevealLeft(ctx context.Context, tx bun.Tx, marketID string, now time.Time) (found bool, err error) {
	var keys []Key
	err = tx.NewRaw(`SELECT p.agent_id, p.id FROM predictions AS p WHERE p.unrevealed AND p.reveal = 'close' AND p.market_id = ?
		ORDER BY p.id LIMIT ?`, marketID, revealChunk).Scan(ctx, &keys)
	if err != nil {
		return false, fmt.Errorf("look for predictions to reveal: %w", err)
	}
	if len(keys) == 0 {
		return false, nil
	}
	if err := LockTalliesOf(ctx, tx, keys); err != nil {
		return false, err
	}
	return true, reveal(ctx, tx, keys, "p.unrevealed", now)
}

// revealing is a prediction that becomes public, and the time of its reveal.
type revealing struct {
	AgentID    uuid.UUID `bun:",type:uuid"`
	ID         uuid.UUID `bun:",type:uuid"`
	RevealedAt time.Time `bun:",type:timestamptz"`
}

// reveal makes the predictions public that meet a condition. It also adds their search words and citations, and
// counts them on their markets. The archive lists a void prediction on the day of its reveal. tx must hold the
// tallies of their agents. It must be the last step of a transaction; see CountOnMarkets.
func reveal(ctx context.Context, tx bun.Tx, keys []Key, condition string, now time.Time) error {
	if len(keys) == 0 {
		return nil
	}
	var list []Prediction
	err := database.ScanRows(ctx, tx, `SELECT p.agent_id, p.id, p.title, p.thesis, p.evidence, p.market_id FROM v
		JOIN predictions AS p ON p.agent_id = v.agent_id AND p.id = v.id WHERE `+condition+` ORDER BY p.id`, keys, &list)
	if err != nil {
		return fmt.Errorf("read predictions to reveal: %w", err)
	}
	if len(list) == 0 {
		return nil
	}
	at := database.Stored(now)
	rows, found := make([]revealing, len(list)), make([]*Prediction, len(list))
	var words []newWords
	for i := range list {
		p := &list[i]
		rows[i], found[i] = revealing{p.AgentID, p.ID, at}, p
		if !p.erased() {
			words = append(words, newWords{p.AgentID, p.ID, termsOf(tx, p.Title, p.Thesis)})
		}
	}
	if err := generation.Move(ctx, tx, generation.Predictions, generation.Results); err != nil {
		return err
	}
	writes := []database.Write{database.NewWrite(`UPDATE predictions AS p SET unrevealed = FALSE, revealed_at = v.revealed_at
		FROM v WHERE p.agent_id = v.agent_id AND p.id = v.id`, rows), database.NewWrite(`UPDATE results AS p SET settled_at = v.revealed_at
		FROM v WHERE p.agent_id = v.agent_id AND p.id = v.id AND p.status = 'void'`, rows)}
	writes = append(writes, foundWrites(tx, found, words)...)
	if err := database.ExecWrites(ctx, tx, append(writes, marketCountWrites(found)...)...); err != nil {
		return fmt.Errorf("reveal predictions: %w", err)
	}
	return nil
}
