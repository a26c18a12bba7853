package archive

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
)

// The reasons why texts are erased.
const (
	Closed  = "closed"  // the agent closed its account
	Deleted = "deleted" // the source deleted the post
	Ordered = "ordered" // a court or the operator ordered it
	Hidden  = "hidden"  // an admin hid the text
)

// replaces reports whether a new reason replaces the known reason of a record. A record keeps the first reason that it
// gets. But any other reason replaces Hidden, because an admin may show a hidden text again.
func replaces(reason, known string) bool { return known == Hidden && reason != Hidden }

// Profiles is the Table of a Request for the profile of an agent; see Request.
const Profiles = "profiles"

// Request asks for the texts of a record to be erased from the whole archive. With Agents it covers
// the agent's profile and the texts of its predictions, with Profiles only the profile.
type Request struct {
	Table  string // News, Predictions, Agents or Profiles
	Record string
	Reason string // public; one word, or a text by the operator
	// First and Last are the first and last day that can hold the record. "" means no limit.
	First, Last string
}

// request is a Request in the database.
type request struct {
	bun.BaseModel `bun:"table:redaction_requests,alias:q"`

	ID        uuid.UUID `bun:",pk,type:uuid"`
	Kind      string
	Record    string
	Reason    string
	NextDay   string
	LastDay   string
	CreatedAt time.Time
	DoneAt    time.Time `bun:",nullzero"`
}

// endless is the last day of a request without a limit.
const endless = "9999-12-31"

// RequestRedaction stores requests. The job erases the texts within minutes. With again, records
// that were requested before are searched for again. replaces says which reason such a record keeps.
func RequestRedaction(ctx context.Context, db bun.IDB, now time.Time, again bool, list ...Request) error {
	rows := make([]request, len(list))
	for i, r := range list {
		rows[i] = request{
			ID: database.NewID(now), Kind: r.Table, Record: r.Record, Reason: r.Reason,
			NextDay: r.First, LastDay: r.Last, CreatedAt: database.Stored(now),
		}
		if r.Last == "" {
			rows[i].LastDay = endless
		}
	}
	for part := range slices.Chunk(rows, 500) {
		// The id changes, so that a run which has read the earlier request doesn't mark this one as done.
		q := db.NewInsert().Model(&part).On("CONFLICT (kind, record) DO UPDATE").
			Set("id = EXCLUDED.id, created_at = EXCLUDED.created_at").
			Set("next_day = EXCLUDED.next_day, last_day = EXCLUDED.last_day, done_at = NULL").
			Set("reason = CASE WHEN q.reason = ? THEN EXCLUDED.reason ELSE q.reason END", Hidden) // see replaces
		if !again {
			q = q.Where("q.reason = ?", Hidden)
		}
		if _, err := q.Exec(ctx); err != nil {
			return fmt.Errorf("request redactions: %w", err)
		}
	}
	return nil
}

// WithdrawHidden withdraws the request for a text that an admin shows again. Days already erased
// stay erased. Later days contain the text.
func WithdrawHidden(ctx context.Context, db bun.IDB, table, record string) error {
	_, err := db.NewDelete().Model((*request)(nil)).Where("kind = ?", table).Where("record = ?", record).Where("reason = ?", Hidden).Exec(ctx)
	if err != nil {
		return fmt.Errorf("withdraw a redaction: %w", err)
	}
	return nil
}

// closedSetting holds the time up to which requests for closed accounts are stored.
const closedSetting = "archive_closed_until"

// overlap is how far requestErasures looks back, because the transaction that closes an account may
// commit a little later than its date.
const overlap = time.Hour

// requestErasures requests the erasure of the texts of agents that have closed their accounts.
func (s *Sealer) requestErasures(ctx context.Context) error {
	text, _, err := database.Setting(ctx, s.DB.Reader, closedSetting)
	if err != nil {
		return err
	}
	since, _ := time.Parse(time.RFC3339, text) // zero on the first run
	until := s.Now()
	ids, err := agent.Store{}.ClosedSince(ctx, s.DB.Reader, since)
	if err != nil {
		return err
	}
	list := make([]Request, len(ids))
	for i, id := range ids {
		list[i] = Request{Table: Agents, Record: id.String(), Reason: Closed}
	}
	if err := RequestRedaction(ctx, s.DB, until, false, list...); err != nil {
		return err
	}
	return database.SetSetting(ctx, s.DB, closedSetting, until.Add(-overlap).UTC().Format(time.RFC3339))
}

// covers reports whether a day can hold the record of a request, and is not yet processed.
func (r *request) covers(day string) bool { return r.NextDay <= day && day <= r.LastDay }

// advance stores that requests are processed up to a day, or done.
func (s *Sealer) advance(ctx context.Context, list []request, day string, done bool) error {
	if len(list) == 0 {
		return nil
	}
	ids := make([]uuid.UUID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	q := s.DB.NewUpdate().Model((*request)(nil)).Where("id IN (?)", bun.List(ids))
	if done {
		q = q.Set("done_at = ?", database.Stored(s.Now()))
	} else {
		q = q.Set("next_day = ?", day).Where("next_day < ?", day)
	}
	if _, err := q.Exec(ctx); err != nil {
		return fmt.Errorf("note redactions: %w", err)
	}
	return nil
}

// eachRequest calls use with each request for one of the given records.
func eachRequest(ctx context.Context, db bun.IDB, kinds, records []string, use func(*request)) error {
	var list []request
	err := db.NewSelect().Model(&list).Column("kind", "record", "reason").
		Where("q.kind IN (?)", bun.List(kinds)).Where("q.record IN (?)", bun.List(records)).Scan(ctx)
	if err != nil {
		return fmt.Errorf("look up redactions: %w", err)
	}
	for i := range list {
		use(&list[i])
	}
	return nil
}
