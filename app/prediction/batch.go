package prediction

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/update"
)

// commit stores a batch in one transaction and answers its requests. It returns the requests whose agents are
// locked by another transaction. If the database refuses a row, commit splits the batch until it finds the
// request of that row. It then stores that request without the refused item.
func (p *Publisher) commit(ctx context.Context, list []*request) (held []*request) {
	var b *batch
	err := p.db.InBriefTx(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		b, err = p.storeBatch(ctx, tx, list)
		return err
	})
	switch {
	case err == nil:
		p.failing.Store(false)
		p.tried.Store(p.now().UnixNano())
	case errors.Is(err, errNothingNew):
	case len(list) > 1 && database.IsRowError(err):
		half := len(list) / 2
		return append(p.commit(ctx, list[:half]), p.commit(ctx, list[half:])...)
	case database.IsRowError(err) && p.refuseRows(ctx, list[0]):
		return p.commit(ctx, list)
	default:
		p.failing.Store(!database.IsRowError(err))
		refuse(list, err)
		return nil
	}
	for i, w := range list {
		if b.held(w) {
			held = append(held, w)
		} else {
			w.finish(b.results[i])
		}
	}
	return held
}

// refuseRows finds the items of a request that the database refuses. It stores each item in a transaction and
// rolls it back. It returns false for a request with one item.
func (p *Publisher) refuseRows(ctx context.Context, w *request) (found bool) {
	if len(w.items) == 1 {
		return false
	}
	for _, it := range itemsOf([]*request{w}) {
		alone := &request{
			agent: w.agent, items: []*item{it}, render: func([]ItemOutcome) ([]byte, error) { return nil, nil },
		}
		err := p.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
			if _, err := p.storeBatch(ctx, tx, []*request{alone}); err != nil {
				return err
			}
			return errNothingNew
		})
		if database.IsRowError(err) {
			it.refused, found = fmt.Errorf("publish: %w", err), true
		}
	}
	return found
}

// refuse answers a batch that was not stored.
func refuse(list []*request, err error) {
	if database.IsRowError(err) {
		err = fmt.Errorf("publish: %w", err)
	} else {
		err = problem.Unavailable("The database did not confirm this request. Send the same request again, with the same Idempotency-Key if it has one.", time.Second).With(err)
	}
	for _, w := range list {
		w.finish(result{err: err})
	}
}

// batch is the input and output of one transaction.
type batch struct {
	now     time.Time
	known   *facts
	tallies map[uuid.UUID]*Tally       // of the agents that this transaction has locked
	authors map[uuid.UUID]agent.Author // without those whose accounts were closed after they sent the request
	answers map[agentKey]storedAnswer

	results     []result
	predictions []*Prediction
	found       []terms // by which a search finds predictions
	newAnswers  []newAnswer
	published   map[uuid.UUID]bool
}

// result is the answer to a request, sent once its transaction is committed. repeat is whether it answered an earlier
// request with the same key.
type result struct {
	answer []byte
	repeat bool
	err    error
}

func (b *batch) held(w *request) bool { return b.tallies[w.agent.ID] == nil }

// errNothingNew rolls back a transaction that has nothing to store.
var errNothingNew = errors.New("nothing new")

// storeBatch runs a batch's statements. Their number doesn't depend on the size of the batch.
//
// All nodes lock in the same order, so they can't deadlock: first the tallies of agents, except those that
// another transaction holds; then cited news; then the counts of markets, the last two in ascending order.
// Times and ids are assigned under these locks, so the ids of an agent's predictions follow the order of
// commits, even with several nodes.
func (p *Publisher) storeBatch(ctx context.Context, tx bun.Tx, list []*request) (*batch, error) {
	b := &batch{results: make([]result, len(list)), published: map[uuid.UUID]bool{}}
	if err := p.lockAndLookUp(ctx, tx, b, list); err != nil {
		return nil, err
	}
	b.now = database.Stored(p.now())
	if err := forgetAhead(ctx, tx, b.tallies, b.now); err != nil {
		return nil, err
	}
	var mine []*request
	for _, w := range list {
		if !b.held(w) {
			mine = append(mine, w)
		}
	}
	if len(mine) == 0 {
		return b, errNothingNew
	}
	if err := p.lookUpRest(ctx, tx, b.known, itemsOf(mine)); err != nil {
		return nil, err
	}
	for i, w := range list {
		if !b.held(w) {
			b.results[i] = p.decide(b, w)
		}
	}
	if len(b.predictions) == 0 {
		return b, errNothingNew
	}
	return b, b.insert(ctx, tx, p.news)
}

// lockAndLookUp locks the agents of a batch and reads what is known about its requests, those of held agents included. On
// Postgres all this is one message: the reads stand behind the lock, so they see what other transactions committed before
// it. A tally that was missing is locked later, so then everything is read again.
func (p *Publisher) lockAndLookUp(ctx context.Context, tx bun.Tx, b *batch, list []*request) error {
	agents := agentsOf(list)
	b.tallies = make(map[uuid.UUID]*Tally, len(agents))
	reads := append([]database.Read{lockFreeTallies(tx, agents, b.tallies)}, p.lookUpAll(b, list)...)
	if err := database.ScanReads(ctx, tx, reads...); err != nil {
		return err
	}
	locked := len(b.tallies)
	if locked == len(agents) {
		return nil
	}
	if err := makeTallies(ctx, tx, agents, b.tallies); err != nil {
		return err
	}
	if len(b.tallies) == locked || !database.IsPostgres(tx) { // SQLite locks everything when a transaction begins
		return nil
	}
	return database.ScanReads(ctx, tx, p.lookUpAll(b, list)...)
}

// lookUpAll begins to look up what a batch needs to know; see lookUp.
func (p *Publisher) lookUpAll(b *batch, list []*request) (reads []database.Read) {
	b.authors, b.answers = map[uuid.UUID]agent.Author{}, map[agentKey]storedAnswer{}
	b.known, reads = p.lookUp(itemsOf(list))
	return append(reads, agent.OpenAmong(agentsOf(list), b.authors), firstAnswers(list, p.now(), b.answers))
}

// decide answers one request. It adds the predictions to the batch unless they are refused or the request is a
// repeat. If all of them are refused, the request's key isn't stored either. A panic refuses the request,
// because on the committer's goroutine it would end the process.
func (p *Publisher) decide(b *batch, w *request) (r result) {
	defer func() {
		if cause := recover(); cause != nil {
			r = result{err: fmt.Errorf("publish: panic: %v\n%s", cause, debug.Stack())}
		}
	}()
	if w.left.Load() {
		return result{err: context.Canceled}
	}
	author, open := b.authors[w.agent.ID]
	if !open {
		return result{err: agent.AccountClosed()}
	}
	w.agent.Name, w.agent.Model = author.Name, author.Model // the request may have begun before a change of them
	key := agentKey{w.agent.ID, w.idempotencyKey}
	if first, ok := b.answers[key]; ok && key.Key != "" {
		answer, err := first.repeat(w.bodyHash)
		return result{answer: answer, repeat: err == nil, err: err}
	}
	if w.repeatOnly {
		return result{}
	}
	tally := *b.tallies[w.agent.ID]
	outcomes := p.prepareAll(w, b.known, &tally, b.now)
	answer, err := w.reply(outcomes)
	if err != nil || !b.add(p.db, w, outcomes) {
		return result{answer: answer, err: err}
	}
	*b.tallies[w.agent.ID] = tally
	if key.Key != "" {
		b.answers[key] = storedAnswer{w.bodyHash[:], answer}
		b.newAnswers = append(b.newAnswers, newAnswer{key.AgentID, key.Key, w.bodyHash[:], answer, b.now})
	}
	return result{answer: answer}
}

// add appends the accepted predictions of a request to the batch. It returns false if there are none.
func (b *batch) add(db bun.IDB, w *request, outcomes []ItemOutcome) (added bool) {
	for i := range outcomes {
		if outcomes[i].Err != nil {
			continue
		}
		made := &outcomes[i].Receipt.Record.Prediction
		b.predictions, b.found = append(b.predictions, made), append(b.found, w.items[i].foundBy(db, made))
		b.published[made.AgentID], added = true, true
		if made.EventKey != "" {
			b.known.earlier[eventOf(made)] = b.known.earlier[eventOf(made)].and(1)
		}
	}
	return added
}

// insert writes the batch. On Postgres, one statement writes all its rows.
func (b *batch) insert(ctx context.Context, tx bun.Tx, items news.Store) error {
	var cited []string
	for _, made := range b.predictions {
		cited = append(cited, b.known.newlyCited(made.Evidence)...)
	}
	if err := items.Cite(ctx, tx, cited); err != nil {
		return err
	}
	var tallies []*Tally
	for id := range b.published {
		tallies = append(tallies, b.tallies[id])
	}
	writes := append(insertions(tx, b.predictions, b.found), talliesWrite(tallies))
	if len(b.newAnswers) > 0 {
		writes = append(writes, answersWrite(b.newAnswers))
	}
	writes = append(writes, update.NewWrite(created(b.predictions)), generation.NewWrite(tx, generation.Predictions))
	writes = append(writes, marketCountWrites(b.predictions)...) // last, because other batches wait for these rows
	if err := database.ExecLast(ctx, tx, writes...); err != nil {
		return fmt.Errorf("store predictions: %w", err)
	}
	return nil
}

func agentsOf(list []*request) []uuid.UUID {
	seen := make(map[uuid.UUID]bool, len(list))
	var agents []uuid.UUID
	for _, w := range list {
		if id := w.agent.ID; !seen[id] {
			seen[id] = true
			agents = append(agents, id)
		}
	}
	return agents
}
