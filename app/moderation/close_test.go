package moderation_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

// erasedChunk is the most rows of a table that one transaction of a closing may erase, and erasedPredictions the most
// predictions.
const erasedChunk, erasedPredictions = 1000, 50

// fill inserts n rows.
func fill[T any](t *testing.T, db *database.DB, n int, row func(i int) T) {
	t.Helper()
	rows := make([]T, n)
	for i := range rows {
		rows[i] = row(i)
	}
	for part := range slices.Chunk(rows, 500) {
		if _, err := db.NewInsert().Model(&part).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

type answerRow struct {
	bun.BaseModel `bun:"table:idempotency_keys"`

	AgentID   uuid.UUID `bun:",type:uuid"`
	Key       string
	BodyHash  []byte
	Response  []byte
	CreatedAt time.Time
}

type partRow struct {
	bun.BaseModel `bun:"table:prediction_parts"`

	AgentID  uuid.UUID `bun:",type:uuid"`
	MarketID string
	ID       uuid.UUID `bun:",type:uuid"`
	Thesis   string
	BeganAt  time.Time
}

type hourRow struct {
	bun.BaseModel `bun:"table:agent_usage"`

	AgentID                   uuid.UUID `bun:",type:uuid"`
	Hour                      time.Time
	Requests, Errors, Limited int
}

type endpointRow struct {
	bun.BaseModel `bun:"table:agent_endpoints"`

	AgentID                  uuid.UUID `bun:",type:uuid"`
	Hour                     time.Time
	Method, Route            string
	OK                       int `bun:"ok"`
	Refused, Limited, Failed int
}

// largeAccount makes an account with more rows in each of the returned tables than one transaction may erase.
func largeAccount(t *testing.T, db *database.DB) (ada *agent.Agent, rows map[string]int) {
	t.Helper()
	const n = 2*erasedChunk + 100
	const predictions = 2*erasedPredictions + 10
	ada, ids := predict(t, db, slices.Repeat([]prediction.Prediction{{Title: "One"}}, predictions)...)
	at := database.Stored(start)
	hour := func(i int) time.Time { return at.Add(time.Duration(-i) * time.Hour) }
	fill(t, db, n, func(i int) answerRow {
		return answerRow{AgentID: ada.ID, Key: fmt.Sprint(i), BodyHash: []byte{1}, Response: []byte("{}"), CreatedAt: at}
	})
	fill(t, db, n, func(i int) partRow {
		return partRow{AgentID: ada.ID, MarketID: fmt.Sprint(i), ID: uuid.New(), Thesis: "Why.", BeganAt: at}
	})
	fill(t, db, n, func(i int) hourRow { return hourRow{AgentID: ada.ID, Hour: hour(i), Requests: 1} })
	fill(t, db, n, func(i int) endpointRow {
		return endpointRow{AgentID: ada.ID, Hour: hour(i), Method: "GET", Route: "/", OK: 1}
	})
	fill(t, db, n, func(i int) moderation.Report {
		reader := fmt.Sprint(i)
		return moderation.Report{
			ID: uuid.New(), PredictionID: ids[0], AuthorID: ada.ID, Reader: &reader, Kind: moderation.ReportSpam, Text: "Spam.",
			Status: "open", CreatedAt: at,
		}
	})
	return ada, map[string]int{"predictions": predictions, "idempotency_keys": n, "prediction_parts": n, "agent_usage": n, "agent_endpoints": n, "reports": n}
}

// left counts the rows of largeAccount that aren't erased yet.
func left(t *testing.T, db *database.DB, table string) int {
	t.Helper()
	q := db.Reader.NewSelect().Table(table)
	switch table {
	case "reports":
		q = q.Where("text <> ''")
	case "predictions":
		q = q.Where("title <> ''")
	}
	n, err := q.Count(t.Context())
	if err != nil {
		t.Error(err)
	}
	return int(n)
}

// TestCloseInShortTransactions checks that closing a large account erases a bounded number of rows in one
// transaction, only after the account is closed, and counts all of them.
func TestCloseInShortTransactions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ada, before := largeAccount(t, db)
		rows, predictions := before["reports"], int64(before["predictions"])
		db.Watch(dbtest.OnCommit(func() {
			for table, had := range before {
				n := left(t, db, table)
				most := erasedChunk
				if table == "predictions" {
					most = erasedPredictions
				}
				if had-n > most {
					t.Errorf("one transaction erased %d rows of %s, want at most %d", had-n, table, most)
				}
				if now, err := (agent.Store{}).ByID(t.Context(), db.Reader, ada.ID); n < had && (err != nil || !now.Closed()) {
					t.Errorf("rows of %s were erased before the account was closed (%v)", table, err)
				}
				before[table] = n
			}
		}))
		c, err := service(db).CloseAccount(t.Context(), moderation.Act{Actor: "ada", Reason: "Asked by mail."}, ada.Handle)
		if err != nil {
			t.Fatal(err)
		}
		n := int64(rows)
		if !c.Complete || c.Answers != n || c.Reports != n || c.Usage != 2*n || c.Predictions != predictions {
			t.Errorf("closing reports %+v, want all rows", c)
		}
		for table, n := range before {
			if n != 0 {
				t.Errorf("%d rows of %s are left", n, table)
			}
		}
	})
}

// TestClosingIsContinued checks that upkeep erases what an interrupted closing has left, also if the closing bears the
// time of a clock that was ahead.
func TestClosingIsContinued(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]time.Time{"an hour later": start.Add(time.Hour), "two days ahead": start.AddDate(0, 0, -2)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			isContinued(t, at)
		})
	}
}

// isContinued interrupts a closing, and continues it at a time.
func isContinued(t *testing.T, at time.Time) {
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ada, tables := largeAccount(t, db)
		ctx, crash := context.WithCancel(t.Context())
		commits := 0
		db.Watch(dbtest.OnCommit(func() {
			if commits++; commits == 2 { // the account is closed, and a part is erased
				crash()
			}
		}))
		c, err := service(db).CloseAccount(ctx, moderation.Act{Actor: "ada", Reason: "Asked by mail."}, ada.Handle)
		if err != nil || c.Complete {
			t.Fatalf("complete %t, %v; want an interrupted closing", c.Complete, err)
		}
		requests, err := db.Reader.NewSelect().Table("redaction_requests").
			Where("kind = 'agents'").Where("reason = 'closed'").Where("record = ?", ada.ID.String()).Count(t.Context())
		if err != nil || requests != 1 {
			t.Errorf("the archive has %d requests to erase the account's texts, %v; want 1", requests, err)
		}
		total := 0
		for table := range tables {
			total += left(t, db, table)
		}
		if total == 0 {
			t.Error("nothing is left, want an interrupted closing")
		}
		if _, err := moderation.EraseClosed(t.Context(), db, at); err != nil {
			t.Fatal(err)
		}
		for table := range tables {
			if n := left(t, db, table); n != 0 {
				t.Errorf("%d rows of %s are left", n, table)
			}
		}
		if ids, err := (agent.Store{}).NotErased(t.Context(), db.Reader, start.Add(time.Hour), 10); err != nil || len(ids) != 0 {
			t.Errorf("accounts to erase: got %v, %v, want none", ids, err)
		}
	})
}

// TestUpkeepLeavesAClosingAlone checks that upkeep doesn't erase the texts of an account while it is being
// closed, because the closing counts them.
func TestUpkeepLeavesAClosingAlone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ada, _ := predict(t, db, prediction.Prediction{Title: "One"}, prediction.Prediction{Title: "Two"})
		closing := moderation.New(moderation.Options{DB: db, Now: func() time.Time {
			if _, err := moderation.EraseClosed(t.Context(), db, start); err != nil {
				t.Error(err)
			}
			return start
		}})
		c, err := closing.CloseAccount(t.Context(), moderation.Act{Actor: "ada", Reason: "Asked by mail."}, ada.Handle)
		if err != nil {
			t.Fatal(err)
		}
		if c.Predictions != 2 || !c.Complete {
			t.Errorf("erased %d predictions, complete %t; want 2, true", c.Predictions, c.Complete)
		}
	})
}

// beforeQuery is a hook for database.DB.Watch that is called with each query before it is sent.
type beforeQuery func(query string)

func (f beforeQuery) BeforeQuery(ctx context.Context, e *bun.QueryEvent) context.Context {
	f(e.Query)
	return ctx
}

func (beforeQuery) AfterQuery(context.Context, *bun.QueryEvent) {}

// TestNoReportAfterClosing checks that a request that began before its agent's account was closed adds no report after
// that. Nothing would erase the report's text.
func TestNoReportAfterClosing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		_, ids := predict(t, db, prediction.Prediction{Title: "One"})
		var bea *agent.Agent
		inTx(t, db, func(ctx context.Context, tx bun.Tx) (err error) {
			bea, err = (agent.Store{}).Create(ctx, tx, agent.New{Profile: agent.Profile{Name: "Bea"}, At: start})
			return err
		})
		report := moderation.Report{PredictionID: ids[0], ReporterID: bea.ID, Kind: moderation.ReportSpam, Text: "Spam."}
		if _, err := service(db).File(t.Context(), report); err != nil {
			t.Fatal(err)
		}
		if _, err := service(db).CloseOwnAccount(t.Context(), bea, bea.Handle); err != nil {
			t.Fatal(err)
		}
		report.Kind = moderation.ReportAbuse
		if _, err := service(db).File(t.Context(), report); problem.As(err).Code != "account_closed" {
			t.Errorf("a report after the closing: %v", err)
		}
		var addresses int
		if err := db.NewRaw("SELECT COUNT(*) FROM audit_log WHERE address <> ''").Scan(t.Context(), &addresses); err != nil || addresses != 0 {
			t.Errorf("the audit log keeps %d addresses, %v", addresses, err)
		}
	})
}

// TestPublishWhileClosing checks that a publication whose transaction has begun leaves no answer behind when the
// account is closed meanwhile.
func TestPublishWhileClosing(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t, database.Postgres) // not SQLite, which has one writer
	db := dbtest.OpenAt(t, address)
	ada, _ := predict(t, db)
	publisher := prediction.NewPublisher(db, func() time.Time { return start }, time.Minute, "")
	begun, commit := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(commit) })
	var published sync.WaitGroup
	published.Go(func() {
		confidence, horizon := 0.5, start.AddDate(0, 0, 1)
		_, err := publisher.Publish(t.Context(), prediction.Submission{
			Agent: *ada, IdempotencyKey: "once", Draft: prediction.Draft{Title: "One", Thesis: "Why.", Confidence: &confidence, HorizonAt: &horizon},
			Render: func(prediction.Receipt) ([]byte, error) {
				close(begun)
				<-commit
				return []byte("{}"), nil
			},
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-begun
	closer := dbtest.OpenAt(t, address)
	closer.Watch(beforeQuery(func(query string) {
		if strings.Contains(query, "agent_tallies") { // the closing waits for the publication from here on
			release()
		}
	}))
	c, err := service(closer).CloseAccount(t.Context(), moderation.Act{Actor: "ada", Reason: "Asked by mail."}, ada.Handle)
	release()
	published.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if c.Answers != 1 || c.Predictions != 1 || !c.Complete {
		t.Errorf("erased %+v, want 1 answer and 1 prediction", c.Erased)
	}
	if n := left(t, db, "idempotency_keys"); n != 0 {
		t.Errorf("%d answers are left", n)
	}
}

// TestClosingErasesNotes checks that no note of an admin is left after the account is closed, in the audit log either. The
// log can't be changed.
func TestClosingErasesNotes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ada, _ := predict(t, db, prediction.Prediction{Title: "One"})
		s := service(db)
		act := moderation.Act{Actor: "root", Reason: "asked"}
		if err := s.AddNote(t.Context(), act, ada.Handle, "Ada lives in Paris."); err != nil {
			t.Fatal(err)
		}
		if _, err := s.CloseAccount(t.Context(), act, ada.Handle); err != nil {
			t.Fatal(err)
		}
		entries, _, err := audit.List(t.Context(), db.Reader, audit.Filter{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		if log := fmt.Sprint(entries); strings.Contains(log, "Paris") || !strings.Contains(log, audit.NoteAdded) {
			t.Errorf("the audit log has %s", log)
		}
	})
}
