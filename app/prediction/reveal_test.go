package prediction_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

// withheldDraft is a draft on a market with a later reveal.
func withheldDraft(until prediction.Reveal, market string) prediction.Draft {
	return draft(func(d *prediction.Draft) {
		d.Reveal, d.MarketID, d.Thesis, d.Category = until, market, "A zebrafish told me.", "ichthyology"
		d.Evidence = []prediction.Evidence{{Title: "A <study> & more", URL: "https://example.org/study"}}
	})
}

// read returns a prediction as the viewer sees it.
func (d *author) read(t *testing.T, id uuid.UUID, viewer agent.Viewer) *prediction.Record {
	t.Helper()
	r, err := prediction.Store{}.For(viewer).ByID(t.Context(), d.db.Reader, id)
	if err != nil || r == nil {
		t.Fatalf("read %s: %v, %v", id, r, err)
	}
	return r
}

// settleAs sets the status and the baseline state of a prediction's result, as settling does.
func (d *author) settleAs(t *testing.T, id uuid.UUID, state prediction.BaselineState) {
	t.Helper()
	if _, err := d.db.NewRaw("UPDATE results SET baseline_state = ? WHERE id = ?", state, id).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (d *author) revealDue(t *testing.T) {
	t.Helper()
	if err := prediction.RevealDue(t.Context(), d.db, d.now()); err != nil {
		t.Fatal(err)
	}
}

// TestRevealsInShortTransactions checks that one transaction reveals a bounded number of predictions.
func TestRevealsInShortTransactions(t *testing.T) {
	t.Parallel()
	eachAuthor(t, func(t *testing.T, d *author) {
		const predictions, most = 120, 50
		for range predictions {
			d.publish(t, withheldDraft(prediction.RevealClose, "1"))
		}
		had := predictions
		d.db.Watch(dbtest.OnCommit(func() {
			n, err := d.db.Reader.NewSelect().Table("predictions").Where("unrevealed").Count(t.Context())
			if err != nil || had-int(n) > most {
				t.Errorf("one transaction revealed %d predictions (%v), want at most %d", had-int(n), err, most)
			}
			had = int(n)
		}))
		d.wait(start.AddDate(0, 1, 0).Sub(start))
		d.revealDue(t)
		if had != 0 {
			t.Errorf("%d predictions are withheld, want none", had)
		}
	})
}

// TestRevealed checks that a withheld prediction is revealed at its moment and not before, whatever the state
// of the agent.
func TestRevealed(t *testing.T) {
	t.Parallel()
	closes := start.AddDate(0, 1, 0)
	for _, c := range []struct {
		name  string
		until prediction.Reveal
		early func(t *testing.T, d *author, id uuid.UUID) // happens before the reveal
		due   func(t *testing.T, d *author, id uuid.UUID)
	}{
		{"baseline fixed", prediction.RevealBaseline,
			func(t *testing.T, d *author, id uuid.UUID) { d.wait(10 * time.Minute) },
			func(t *testing.T, d *author, id uuid.UUID) { d.settleAs(t, id, prediction.Fixed) }},
		{"no baseline", prediction.RevealBaseline,
			func(t *testing.T, d *author, id uuid.UUID) { d.wait(10 * time.Minute) },
			func(t *testing.T, d *author, id uuid.UUID) { d.settleAs(t, id, prediction.Illiquid) }},
		{"market closed", prediction.RevealClose,
			func(t *testing.T, d *author, id uuid.UUID) { d.settleAs(t, id, prediction.Fixed) },
			func(t *testing.T, d *author, id uuid.UUID) {
				if _, err := d.db.NewRaw("UPDATE markets SET closed = TRUE WHERE id = '1'").Exec(t.Context()); err != nil {
					t.Fatal(err)
				}
			}},
		{"scheduled close passed", prediction.RevealClose,
			func(t *testing.T, d *author, id uuid.UUID) { d.wait(closes.Sub(start) - time.Second) },
			func(t *testing.T, d *author, id uuid.UUID) { d.wait(time.Second) }},
		{"agent disabled", prediction.RevealClose,
			func(t *testing.T, d *author, id uuid.UUID) {
				err := d.db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
					_, err := agent.Store{}.SetStatus(ctx, tx, d.agent.ID, agent.Disabled, d.now())
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			},
			func(t *testing.T, d *author, id uuid.UUID) { d.wait(closes.Sub(start)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				d := open(t, db)
				got, _, err := d.publish(t, withheldDraft(c.until, "1"))
				if err != nil {
					t.Fatal(err)
				}
				id := got.Record.ID
				hash := got.Record.Hash
				if len(got.Record.Salt) != 32 || len(hash) != 32 || got.Record.Thesis == "" || !got.Record.Unrevealed {
					t.Fatalf("the author gets %+v", got.Record.Prediction)
				}
				c.early(t, d, id)
				d.revealDue(t)
				d.checkWithheld(t, id, hash)
				c.due(t, d, id)
				d.revealDue(t)
				d.checkRevealed(t, id, hash)
				d.revealDue(t) // a second call changes nothing
				d.checkRevealed(t, id, hash)
			})
		})
	}
}

// checkWithheld checks that others see only the agent, the time and the market.
func (d *author) checkWithheld(t *testing.T, id uuid.UUID, hash []byte) {
	t.Helper()
	others := d.read(t, id, agent.Viewer{AgentID: uuid.New()})
	if others.Withheld != prediction.NotRevealed {
		t.Fatalf("got reason %q, want %q", others.Withheld, prediction.NotRevealed)
	}
	p := others.Prediction
	p.BaseModel = bun.BaseModel{}
	want := prediction.Prediction{
		ID: id, AgentID: d.agent.ID, MarketID: "1", EventKey: "e:weather", ScheduledCloseAt: others.ScheduledCloseAt,
		Reveal: others.Reveal, Hash: hash, Unrevealed: true, CreatedAt: others.CreatedAt,
	}
	if len(p.Evidence) != 0 {
		t.Errorf("others see the evidence %v, want none", p.Evidence)
	}
	if p.Evidence = nil; !reflect.DeepEqual(p, want) {
		t.Errorf("others see\n%+v\nwant\n%+v", p, want)
	}
	for _, viewer := range []agent.Viewer{{AgentID: d.agent.ID}, {Admin: true}} {
		if r := d.read(t, id, viewer); r.Withheld != prediction.NotWithheld || r.Thesis == "" || r.Salt == nil {
			t.Errorf("viewer %+v sees %+v", viewer, r.Prediction)
		}
	}
	d.checkFound(t, id, false)
}

func (d *author) checkRevealed(t *testing.T, id uuid.UUID, hash []byte) {
	t.Helper()
	r := d.read(t, id, agent.Viewer{})
	if r.Withheld != prediction.NotWithheld || r.Unrevealed || !r.RevealedAt.UTC().Equal(d.now()) || r.Confidence != 0.9 {
		t.Fatalf("after the reveal others see %+v", r.Prediction)
	}
	said := `{"category":"ichthyology","confidence":0.9,"evidence":[{"title":"A <study> & more","url":"https://example.org/study"}],` +
		`"horizonAt":"` + r.HorizonAt.UTC().Format(time.RFC3339) + `","model":"m-1","outcome":"Yes","thesis":"A zebrafish told me.","title":"Will the sun rise?"}`
	sum := sha256.Sum256([]byte(hex.EncodeToString(r.Salt) + said))
	if hex.EncodeToString(sum[:]) != hex.EncodeToString(hash) || string(r.Hash) != string(hash) {
		t.Errorf("the hash %x isn't that of %x and %s", hash, r.Salt, said)
	}
	d.checkFound(t, id, true)
}

// checkFound checks whether searches, category filters, citations and the market's count include the
// prediction, for every viewer.
func (d *author) checkFound(t *testing.T, id uuid.UUID, want bool) {
	t.Helper()
	for _, viewer := range []agent.Viewer{{}, {AgentID: d.agent.ID}, {Admin: true}} {
		store := prediction.Store{}.For(viewer)
		for name, f := range map[string]prediction.Filter{
			"words": {Words: "zebrafish"}, "category": {Category: "ichthyology"},
			"category of an agent": {Category: "ichthyology", AgentID: d.agent.ID}, "words on a market": {Words: "zebrafish", MarketID: "1"},
		} {
			f.Limit = 5
			list, next, err := store.List(t.Context(), d.db.Reader, f)
			if found := len(list) == 1 && list[0].ID == id; err != nil || found != want || next != "" {
				t.Errorf("%s, viewer %+v: found %t, want %t (%d listed, cursor %q, %v)", name, viewer, found, want, len(list), next, err)
			}
		}
		cited, err := store.CitedBy(t.Context(), d.db.Reader, prediction.SignalNews, []string{"n1"}, 5)
		if (cited["n1"].Total == 1) != want || err != nil {
			t.Errorf("citations: %+v, %v", cited, err)
		}
	}
	counts, err := prediction.Store{}.Consensus(t.Context(), d.db.Reader, []string{"1"})
	if (counts["1"].Predictions == 1) != want || err != nil {
		t.Errorf("got the market's consensus %+v, %v; want the prediction counted: %t", counts["1"], err, want)
	}
	list, _, err := prediction.Store{}.List(t.Context(), d.db.Reader, prediction.Filter{MarketID: "1", Limit: 5})
	if err != nil || len(list) != 1 {
		t.Errorf("the market lists %d predictions (%v), want 1", len(list), err)
	}
}

// TestRevealRefused checks that a reveal needs a market, and that a later prediction can't disclose an earlier
// one's confidence through its baseline.
func TestRevealRefused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		for name, c := range map[string]struct {
			draft prediction.Draft
			want  string
		}{
			"no market":      {draft(func(d *prediction.Draft) { d.Reveal = prediction.RevealClose }), "needs marketId"},
			"unknown moment": {draft(func(d *prediction.Draft) { d.Reveal = "never" }), `must be "now"`},
		} {
			_, _, err := d.publish(t, c.draft)
			if p := problem.As(err); p.Status != 422 || len(p.Fields) != 1 || p.Fields[0].Field != "reveal" || !strings.Contains(p.Fields[0].Message, c.want) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		byTitle := draft(func(d *prediction.Draft) { d.Title, d.Reveal = "Will it rain in Oslo?", prediction.RevealClose })
		if got, _, err := d.publish(t, byTitle); err != nil || !got.Record.Unrevealed || got.Record.MarketID != "1" {
			t.Fatalf("linked by its title: got %+v, %v", got.Record.Prediction, err)
		}
		for _, until := range []prediction.Reveal{"", prediction.RevealNow, prediction.RevealBaseline} {
			_, _, err := d.publish(t, withheldDraft(until, "1"))
			if p := problem.As(err); p.Status != 422 || !strings.Contains(p.Fields[0].Message, `must be "close"`) {
				t.Errorf("%q after close on the same market: got %v", until, err)
			}
			if _, _, err := d.publish(t, withheldDraft(until, "2")); err != nil {
				t.Errorf("%q on another market: got %v", until, err)
			}
		}
		if _, _, err := d.publish(t, withheldDraft(prediction.RevealClose, "1")); err != nil {
			t.Errorf("close after close: %v", err)
		}
		d.wait(start.AddDate(0, 1, 0).Sub(start))
		_, _, err := d.publish(t, withheldDraft(prediction.RevealClose, "2"))
		if p := problem.As(err); p.Status != 422 || !strings.Contains(p.Fields[0].Message, "has passed") {
			t.Errorf("close after the scheduled close: %v", err)
		}
		other := agent.Agent{ID: newAgent(t, db, "other")}
		if _, _, err := d.publish(t, withheldDraft("", "1"), func(s *prediction.Submission) { s.Agent = other }); err != nil {
			t.Errorf("another agent on the same market: %v", err)
		}
	})
}
