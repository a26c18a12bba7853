package prediction

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/market"
)

// item is a draft of a request on its way to be stored.
type item struct {
	agentID  uuid.UUID
	draft    Draft
	warnings []string // of the edge
	refused  error    // why it isn't stored, as known beforehand
	question string   // the title, as markets are matched by it
	words    []string // what title and thesis are found by
}

func newItem(agentID uuid.UUID, d Draft, warnings []string, refused error) *item {
	return &item{
		agentID: agentID, draft: d, warnings: warnings, refused: refused,
		question: market.QuestionKey(d.Title), words: wordsOf(d.Title, d.Thesis),
	}
}

// foundBy returns the words that its prediction is found by. Those of a title that was left
// out follow from the market, so they are cut only now.
func (it *item) foundBy(p *Prediction) string {
	words := it.words
	if it.draft.Title == "" {
		words = wordsOf(p.Title, p.Thesis)
	}
	return strings.Join(words, " ")
}

// bytes is about what it holds of memory.
func (it *item) bytes() int {
	n := len(it.draft.Title) + 2*len(it.draft.Thesis)
	for _, e := range it.draft.Evidence {
		n += len(e.Title) + len(e.URL)
	}
	return n
}

// itemsOf lists the items of requests that aren't refused yet.
func itemsOf(list []*waiting) []*item {
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
	// Refused is what the edge found wrong; the draft then only keeps its place in the answer.
	Refused error
}

// BatchSubmission is one request to publish several predictions of an agent, in order.
type BatchSubmission struct {
	Agent agent.Agent
	Items []BatchItem
	// DryRun, IdempotencyKey and BodyHash are as in Submission, for the whole.
	DryRun         bool
	IdempotencyKey string
	BodyHash       [32]byte
	// Render writes the answer from what became of each item, in order; see Submission.
	Render func([]ItemOutcome) ([]byte, error)
}

// ItemOutcome is what became of one item: a receipt, or why it was refused.
type ItemOutcome struct {
	Receipt Receipt
	Err     error
}

// waiting is s as the committer takes it: a batch of one, refused with its item.
func (s *Submission) waiting() *waiting {
	return &waiting{
		agent: s.Agent, idempotencyKey: s.IdempotencyKey, bodyHash: s.BodyHash,
		items: []*item{newItem(s.Agent.ID, s.Draft, s.Warnings, nil)},
		render: func(list []ItemOutcome) ([]byte, error) {
			if err := list[0].Err; err != nil {
				return nil, err
			}
			return s.Render(list[0].Receipt)
		},
	}
}

func (s *BatchSubmission) waiting() *waiting {
	w := &waiting{agent: s.Agent, idempotencyKey: s.IdempotencyKey, bodyHash: s.BodyHash, render: s.Render}
	for _, i := range s.Items {
		w.items = append(w.items, newItem(s.Agent.ID, i.Draft, i.Warnings, i.Refused))
	}
	return w
}

// reply renders what became of the items as the author may see it.
func (w *waiting) reply(outcomes []ItemOutcome) ([]byte, error) {
	shown := slices.Clone(outcomes)
	for i := range shown {
		shown[i].Receipt.Record.redact(agent.Viewer{AgentID: w.agent.ID})
	}
	return w.render(shown)
}
