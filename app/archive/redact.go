package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
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

// Profiles is the Table of a Request that erases the profile of an agent, but not the texts of its
// predictions.
const Profiles = "profiles"

// Request asks for the texts of a record to be erased from the whole archive. A request for an
// agent covers its predictions.
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
// that were requested before are searched for again. A record keeps the reason of its first request.
// But any other reason replaces Hidden, because an admin may show a hidden text again.
func RequestRedaction(ctx context.Context, db bun.IDB, now time.Time, again bool, list ...Request) error {
	rows := make([]request, len(list))
	for i, r := range list {
		rows[i] = request{
			ID: database.NewID(now), Kind: r.Table, Record: r.Record, Reason: r.Reason,
			NextDay: r.First, LastDay: r.Last, CreatedAt: database.Now(now),
		}
		if r.Last == "" {
			rows[i].LastDay = endless
		}
	}
	for part := range slices.Chunk(rows, 500) {
		q := db.NewInsert().Model(&part).On("CONFLICT (kind, record) DO UPDATE").
			Set("next_day = EXCLUDED.next_day, last_day = EXCLUDED.last_day, done_at = NULL").
			Set("reason = CASE WHEN q.reason = ? THEN EXCLUDED.reason ELSE q.reason END", Hidden)
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

const (
	requestsAtOnce = 500
	redactedDays   = 400 // days after which progress is stored
	daysNamed      = 5   // failed days that an error names at most
)

// Redact erases requested texts. It may be stopped at any time and run again. A request stays open
// if a day that can hold its record couldn't be processed, so the next run tries again. Without
// sealed, every request stays open for later days: the storage may hold a day that the database
// doesn't list yet.
func (s *Sealer) Redact(ctx context.Context, sealed bool) error {
	var failed []error
	for last := uuid.Nil; ; {
		var open []request
		err := s.DB.Reader.NewSelect().Model(&open).Where("done_at IS NULL").Where("id > ?", last).
			OrderExpr("id").Limit(requestsAtOnce).Scan(ctx)
		if err != nil {
			return errors.Join(append(failed, fmt.Errorf("list redactions: %w", err))...)
		}
		if len(open) == 0 {
			return errors.Join(failed...)
		}
		last = open[len(open)-1].ID
		if err := s.redactAll(ctx, open, sealed); err != nil {
			failed = append(failed, err)
		}
	}
}

// redactAll processes requests day by day.
func (s *Sealer) redactAll(ctx context.Context, open []request, sealed bool) error {
	from := slices.MinFunc(open, func(a, b request) int { return strings.Compare(a.NextDay, b.NextDay) }).NextDay
	to := slices.MaxFunc(open, func(a, b request) int { return strings.Compare(a.LastDay, b.LastDay) }).LastDay
	processed := slices.Clone(open) // the requests without a failed day
	var failed []error
	for more := true; more; {
		days, err := dayNames(ctx, s.DB.Reader, from, to, redactedDays)
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		for _, day := range days {
			if err := ctx.Err(); err != nil {
				return errors.Join(append(failed, err)...)
			}
			if err := s.redactDay(ctx, day, open); err != nil {
				if len(failed) < daysNamed {
					failed = append(failed, fmt.Errorf("redact %s: %w", day, err))
				}
				processed = slices.DeleteFunc(processed, func(r request) bool { return r.covers(day) })
			}
			from = day
		}
		more = len(days) == redactedDays
		if err := s.advance(ctx, processed, from, sealed && !more); err != nil {
			return errors.Join(append(failed, err)...)
		}
	}
	return errors.Join(failed...)
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
		q = q.Set("done_at = ?", database.Now(s.Now()))
	} else {
		q = q.Set("next_day = ?", day).Where("next_day < ?", day)
	}
	if _, err := q.Exec(ctx); err != nil {
		return fmt.Errorf("note redactions: %w", err)
	}
	return nil
}

func dayNames(ctx context.Context, db bun.IDB, from, to string, limit int) (days []string, err error) {
	err = db.NewSelect().Model((*dayRow)(nil)).Column("day").Where("day >= ?", from).Where("day <= ?", to).
		OrderExpr("day").Limit(int64(limit)).Scan(ctx, &days)
	if err != nil {
		return nil, fmt.Errorf("list the days of the archive: %w", err)
	}
	return days, nil
}

// redactDay erases the texts of the requested records from one day.
func (s *Sealer) redactDay(ctx context.Context, day string, open []request) error {
	d, err := OpenDay(ctx, s.Storage, day)
	if err != nil {
		return err
	}
	wanted, err := d.wanted(ctx, open)
	if err != nil || len(wanted) == 0 {
		return err
	}
	e := eraser{Day: d, storage: s.Storage, wanted: wanted, now: database.Now(s.Now())}
	if err := e.erase(ctx); err != nil {
		return err
	}
	return recordRedactions(ctx, s.DB, day, e.listed)
}

// record identifies a row with texts.
type record struct{ table, id string }

// wanted returns the records of a day that the requests cover, with the reasons.
func (d *Day) wanted(ctx context.Context, open []request) (map[record]string, error) {
	found, agents := map[record]string{}, map[string]string{}
	for _, r := range open {
		if !r.covers(d.Manifest.Day) {
			continue
		}
		if r.Kind == Profiles {
			addReason(found, record{Agents, r.Record}, r.Reason)
			continue
		}
		addReason(found, record{r.Kind, r.Record}, r.Reason)
		if r.Kind == Agents {
			agents[r.Record] = r.Reason
		}
	}
	if len(agents) == 0 {
		return found, nil
	}
	for p, err := range Rows[PredictionRow](ctx, d, Predictions) {
		if err != nil {
			return nil, err
		}
		if reason, ok := agents[p.Agent]; ok {
			addReason(found, record{Predictions, p.ID}, reason)
		}
	}
	return found, nil
}

// addReason stores why a record is erased. Any other reason replaces Hidden.
func addReason(found map[record]string, r record, reason string) {
	if known := found[r]; known == "" || known == Hidden {
		found[r] = reason
	}
}

// eraser erases texts from one day.
type eraser struct {
	*Day
	storage Writable
	wanted  map[record]string
	now     time.Time
	found   []Redaction // of the texts that aren't erased yet
	listed  []Redaction // those of wanted in redactions.json, if it was written
}

// erase writes redactions.json and texts.json before it rewrites the texts. If it is stopped in
// between, the next run finds the remaining texts and erases them. If all texts were erased before,
// it only stores the reasons that replace Hidden.
func (e *eraser) erase(ctx context.Context) error {
	kept := map[string][]TextRow{}
	for _, f := range e.Manifest.Texts {
		rows, err := e.split(ctx, f)
		if err != nil {
			return err
		}
		if rows != nil {
			kept[f.Name] = rows
		}
	}
	if err := e.writeRedactions(ctx); err != nil || len(kept) == 0 {
		return err
	}
	if err := e.writeStates(ctx, kept); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		if err := e.rewrite(ctx, Path(e.Manifest.Day, name), kept[name]); err != nil {
			return err
		}
	}
	return nil
}

// split returns the remaining texts of a file, or nil if none is to be erased.
func (e *eraser) split(ctx context.Context, f Texts) (kept []TextRow, err error) {
	kept = []TextRow{}
	erased := false
	for row, err := range readTexts(ctx, e.storage, Path(e.Manifest.Day, f.Name)) {
		if errors.Is(err, ErrNotExist) {
			return nil, nil // all texts were erased before
		}
		if err != nil {
			return nil, err
		}
		reason, wanted := e.wanted[record{f.Table, row.Record}]
		if !wanted {
			kept = append(kept, row)
			continue
		}
		erased = true
		r := Redaction{Table: f.Table, Record: row.Record, Reason: reason, At: e.now}
		if !slices.ContainsFunc(e.found[max(0, len(e.found)-1):], r.same) {
			e.found = append(e.found, r)
		}
	}
	if !erased {
		return nil, nil
	}
	return kept, nil
}

// writeRedactions adds the texts found to redactions.json. Any other reason replaces Hidden there, because the reason
// decides whether the texts stay erased after a restore; see recallErasures. If there is a change, it sets listed.
func (e *eraser) writeRedactions(ctx context.Context) error {
	var list, wanted []Redaction
	name := Path(e.Manifest.Day, RedactionsName)
	if err := readJSON(ctx, e.storage, name, &list); err != nil {
		return err
	}
	changed := len(e.found) > 0
	known := make(map[record]bool, len(list))
	for i := range list {
		r := &list[i]
		key := record{r.Table, r.Record}
		reason, asked := e.wanted[key]
		if asked && r.Reason == Hidden && reason != Hidden {
			r.Reason, changed = reason, true
		}
		if asked && !known[key] {
			wanted = append(wanted, *r)
		}
		known[key] = true
	}
	if !changed {
		return nil
	}
	for _, r := range e.found {
		if key := (record{r.Table, r.Record}); !known[key] {
			known[key] = true
			list, wanted = append(list, r), append(wanted, r)
		}
	}
	e.listed = wanted
	return putJSON(ctx, e.storage, name, list)
}

// writeStates writes texts.json for the files as they will be.
func (e *eraser) writeStates(ctx context.Context, kept map[string][]TextRow) error {
	var states []TextsState
	name := Path(e.Manifest.Day, TextsName)
	if err := readJSON(ctx, e.storage, name, &states); err != nil {
		return err
	}
	for i := range states {
		rows, changed := kept[states[i].Name]
		if !changed {
			continue
		}
		var b bytes.Buffer
		n, err := writeParquet(ctx, &b, each(rows))
		if err != nil {
			return fmt.Errorf("%s: %w", states[i].Name, err)
		}
		states[i].Rows, states[i].Bytes, states[i].SHA256 = n, int64(b.Len()), Hash(b.Bytes())
	}
	return putJSON(ctx, e.storage, name, states)
}

// rewrite replaces a text file, or deletes it if no texts remain.
func (e *eraser) rewrite(ctx context.Context, name string, rows []TextRow) error {
	if len(rows) == 0 {
		return e.storage.Delete(ctx, name)
	}
	_, err := putParquet(ctx, e.storage, name, each(rows))
	return err
}

// each yields the elements of a list.
func each[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for i := range list {
			if !yield(list[i], nil) {
				return
			}
		}
	}
}

func readJSON(ctx context.Context, s Storage, name string, into any) error {
	content, err := ReadObject(ctx, s, name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// redaction is a Redaction in the database.
type redaction struct {
	bun.BaseModel `bun:"table:redactions,alias:r"`

	ID        uuid.UUID `bun:",pk,type:uuid"`
	Day       string
	Kind      string
	Record    string
	Reason    string
	CreatedAt time.Time
}

// recordRedactions stores the redactions of a day. Any other reason replaces Hidden.
func recordRedactions(ctx context.Context, db bun.IDB, day string, list []Redaction) error {
	rows := make([]redaction, len(list))
	for i, r := range list {
		rows[i] = redaction{ID: database.NewID(r.At), Day: day, Kind: r.Table, Record: r.Record, Reason: r.Reason, CreatedAt: r.At}
	}
	for part := range slices.Chunk(rows, 500) {
		_, err := db.NewInsert().Model(&part).On("CONFLICT (day, kind, record) DO UPDATE").
			Set("reason = EXCLUDED.reason").Where("r.reason = ?", Hidden).Exec(ctx)
		if err != nil {
			return fmt.Errorf("record redactions: %w", err)
		}
	}
	return nil
}
