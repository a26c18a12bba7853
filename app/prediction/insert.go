package prediction

import (
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// newRow holds the columns of predictions that a new prediction sets.
type newRow struct {
	AgentID          uuid.UUID  `bun:",type:uuid"`
	ID               uuid.UUID  `bun:",type:uuid"`
	Title            string     `bun:",type:text"`
	Thesis           string     `bun:",type:text"`
	Confidence       float64    `bun:",type:double precision"`
	HorizonAt        time.Time  `bun:",type:timestamptz"`
	Category         string     `bun:",type:text"`
	Model            string     `bun:",type:text"`
	Evidence         []Evidence `bun:",type:jsonb"`
	MarketID         string     `bun:",nullzero,type:text"`
	Outcome          string     `bun:",nullzero,type:text"`
	OutcomeIndex     *int       `bun:",type:bigint"`
	EventKey         string     `bun:",nullzero,type:text"`
	MarketCategory   string     `bun:",nullzero,type:text"`
	ScheduledCloseAt time.Time  `bun:",nullzero,type:timestamptz"`
	Sample           bool       `bun:",type:boolean"`
	CreatedAt        time.Time  `bun:",type:timestamptz"`
	Reveal           Reveal     `bun:",type:text"`
	Salt             []byte     `bun:",type:bytea"`
	Hash             []byte     `bun:",type:bytea"`
	Unrevealed       bool       `bun:",type:boolean"`
	Newcomer         bool       `bun:",type:boolean"`
	Hidden           bool       `bun:",type:boolean"`
}

// newResult holds the columns of results that a new prediction sets.
type newResult struct {
	AgentID          uuid.UUID     `bun:",type:uuid"`
	ID               uuid.UUID     `bun:",type:uuid"`
	MarketID         string        `bun:",nullzero,type:text"`
	HorizonAt        time.Time     `bun:",type:timestamptz"`
	ScheduledCloseAt time.Time     `bun:",nullzero,type:timestamptz"`
	Newcomer         bool          `bun:",type:boolean"`
	Sample           bool          `bun:",type:boolean"`
	CreatedAt        time.Time     `bun:",type:timestamptz"`
	BaselineState    BaselineState `bun:",type:text"`
	Status           Status        `bun:",type:text"`
}

// newWords holds the terms by which a search finds a new prediction.
type newWords struct {
	AgentID, ID uuid.UUID
	terms
}

// insertions write new predictions with their search terms and citations. found[i] are the terms of list[i].
// Unrevealed predictions get no terms and citations until their reveal; see reveal.
func insertions(tx bun.Tx, list []*Prediction, found []terms) []database.Write {
	rows, results := make([]newRow, len(list)), make([]newResult, len(list))
	words := make([]newWords, 0, len(list))
	for i, p := range list {
		rows[i] = newRow{
			AgentID: p.AgentID, ID: p.ID, Title: p.Title, Thesis: p.Thesis, Confidence: p.Confidence, HorizonAt: p.HorizonAt,
			Category: p.Category, Model: p.Model, Evidence: p.Evidence, MarketID: p.MarketID, Outcome: p.Outcome,
			OutcomeIndex: p.OutcomeIndex, EventKey: p.EventKey, MarketCategory: p.MarketCategory,
			ScheduledCloseAt: p.ScheduledCloseAt, Sample: p.Sample, CreatedAt: p.CreatedAt,
			Reveal: p.Reveal, Salt: p.Salt, Hash: p.Hash, Unrevealed: p.Unrevealed, Newcomer: p.Newcomer,
		}
		results[i] = newResult{
			AgentID: p.AgentID, ID: p.ID, MarketID: p.MarketID, HorizonAt: p.HorizonAt, ScheduledCloseAt: p.ScheduledCloseAt,
			Newcomer: p.Newcomer, Sample: p.Sample, CreatedAt: p.CreatedAt, BaselineState: p.BaselineState, Status: p.Status,
		}
		if !p.Unrevealed {
			words = append(words, newWords{p.AgentID, p.ID, found[i]})
		}
	}
	writes := []database.Write{
		database.NewInsert("predictions", rows, ""),
		database.NewInsert("results", results, ""),
	}
	return append(writes, foundWrites(tx, list, words)...)
}

// foundWrites makes predictions findable by their words and by the signals that they cite. It skips the citations of
// unrevealed ones; the caller leaves out their words.
func foundWrites(tx bun.Tx, list []*Prediction, words []newWords) (writes []database.Write) {
	if len(words) > 0 {
		writes = append(writes, wordsWrite(tx, words))
	}
	if cited := citationsOf(list); len(cited) > 0 {
		writes = append(writes, database.NewInsert("citations", cited, ""))
	}
	return writes
}

// marketCountWrites returns the write that counts new predictions on their markets, or nil if no prediction is
// linked and revealed.
func marketCountWrites(list []*Prediction) []database.Write {
	published := map[string]int64{}
	for _, p := range list {
		if p.MarketID != "" && !p.Unrevealed {
			published[p.MarketID]++
		}
	}
	if len(published) == 0 {
		return nil
	}
	return []database.Write{countsWrite(published)}
}
