package prediction

import (
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/market"
)

// item is a draft of a request that waits to be stored.
type item struct {
	agentID  uuid.UUID
	draft    Draft
	warnings []string // from the edge
	refused  error    // the error of the edge, if it refused the draft
	question string   // the normalised title, for matching markets
	found    terms    // by which a search finds it; empty in a dry run
}

// newItem keeps nothing of a refused draft. Its texts may be as long as the body, and folding them takes seconds.
func newItem(agentID uuid.UUID, d Draft, warnings []string, refused error) *item {
	if refused != nil {
		return &item{agentID: agentID, refused: refused}
	}
	return &item{agentID: agentID, draft: d, warnings: warnings, question: market.QuestionKey(d.Title)}
}

// cut cuts the search terms. It runs before the transaction, which would make others wait.
func (it *item) cut(db bun.IDB) {
	if it.refused == nil {
		it.found = termsOf(db, it.draft.Title, it.draft.Thesis)
	}
}

// foundBy returns the search terms of the item's prediction. If the draft has no title, the market's question
// is the title, so its words are known only now.
func (it *item) foundBy(db bun.IDB, p *Prediction) terms {
	if it.draft.Title == "" {
		return termsOf(db, p.Title, p.Thesis)
	}
	return it.found
}

// bytes returns the approximate size of the item in memory, in bytes.
func (it *item) bytes() int {
	return textBytes(it.draft.Title, it.draft.Thesis, it.draft.Evidence) + len(it.draft.Thesis) // for its words
}

// textBytes returns the length of the texts that an agent wrote, in bytes.
func textBytes(title, thesis string, evidence []Evidence) int {
	n := len(title) + len(thesis)
	for _, e := range evidence {
		n += len(e.Title) + len(e.URL)
	}
	return n
}

// itemsOf lists the items of requests, without those that were refused.
func itemsOf(list []*request) []*item {
	var items []*item
	for _, w := range list {
		items = append(items, w.items...)
	}
	return slices.DeleteFunc(items, func(it *item) bool { return it.refused != nil })
}

// BatchItem is one draft of a BatchSubmission.
type BatchItem struct {
	Draft    Draft
	Warnings []string // see Submission
	// Refused is the error that the edge found. The item isn't stored, but keeps its place in the answer.
	Refused error
}

// BatchSubmission is one request to publish several predictions of an agent. They are published in the order of
// Items.
type BatchSubmission struct {
	Agent agent.Agent
	Items []BatchItem
	// DryRun, IdempotencyKey and BodyHash apply to the whole request; see Submission.
	DryRun         bool
	IdempotencyKey string
	BodyHash       [32]byte
	// Render writes the answer from the outcome of each item, in the order of Items; see Submission.
	Render func([]ItemOutcome) ([]byte, error)
}

// ItemOutcome is the outcome of one item: a receipt, or the error that refused it.
type ItemOutcome struct {
	Receipt Receipt
	Err     error
}

// request returns s as a batch of one for the committer. If its item is refused, so is the request.
func (s *Submission) request() *request {
	return &request{
		agent: s.Agent, idempotencyKey: s.IdempotencyKey, bodyHash: s.BodyHash,
		items: []*item{newItem(s.Agent.ID, s.Draft, s.Warnings, s.Refused)},
		render: func(list []ItemOutcome) ([]byte, error) {
			if err := list[0].Err; err != nil {
				return nil, err
			}
			return s.Render(list[0].Receipt)
		},
	}
}

func (s *BatchSubmission) request() *request {
	w := &request{agent: s.Agent, idempotencyKey: s.IdempotencyKey, bodyHash: s.BodyHash, render: s.Render}
	for _, i := range s.Items {
		w.items = append(w.items, newItem(s.Agent.ID, i.Draft, i.Warnings, i.Refused))
	}
	return w
}

// reply renders the outcomes as their author may see them.
func (w *request) reply(outcomes []ItemOutcome) ([]byte, error) {
	shown := slices.Clone(outcomes)
	for i := range shown {
		shown[i].Receipt.Record.redact(agent.Viewer{AgentID: w.agent.ID})
	}
	return w.render(shown)
}
