package release_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/release"
)

// TestSecrets checks that an export contains nothing of predictions and agents that the public
// can't see.
func TestSecrets(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			ctx, db, now := t.Context(), dbtest.OpenAt(t, seededURL(t, kind)), seededAt
			// The first four settled predictions are: a hidden one, an unrevealed one, one of an
			// agent with hidden texts, and one of a closed account. Each is by another agent.
			var settled []prediction.Prediction
			err := prediction.Select(db).Where("p.status = 'resolved'").OrderExpr("p.agent_id, p.id").Scan(ctx, &settled)
			if err != nil {
				t.Fatal(err)
			}
			var chosen []prediction.Prediction
			for _, p := range settled {
				if len(chosen) == 0 || chosen[len(chosen)-1].AgentID != p.AgentID {
					chosen = append(chosen, p)
				}
			}
			if len(chosen) < 5 {
				t.Fatalf("%d agents have settled predictions, want at least 5", len(chosen))
			}
			hidden, secret, muted, closed, shown := chosen[0], chosen[1], chosen[2], chosen[3], chosen[4]
			mark(t, db, "UPDATE predictions SET hidden = TRUE, thesis = 'hidden words' WHERE id = ?", hidden.ID)
			mark(t, db, "UPDATE predictions SET unrevealed = TRUE, thesis = 'secret words' WHERE id = ?", secret.ID)
			mark(t, db, "UPDATE agents SET visibility = 'texts_hidden' WHERE id = ?", muted.AgentID)
			mark(t, db, "UPDATE predictions SET thesis = 'muted words' WHERE id = ?", muted.ID)
			mark(t, db, "UPDATE predictions SET thesis = 'closed words' WHERE id = ?", closed.ID)
			mark(t, db, "UPDATE agents SET name = 'Former Name', owner = 'owner@example.org' WHERE id = ?", closed.AgentID)
			mark(t, db, "UPDATE predictions SET thesis = 'shown words' WHERE id = ?", shown.ID)
			mark(t, db, "UPDATE agents SET owner = 'owner@example.org' WHERE id = ?", shown.AgentID)
			err = db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
				_, _, err := agent.Store{}.Close(ctx, tx, closed.AgentID, now)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			all := exported(t, &release.Exporter{DB: db, Interval: time.Minute})
			for _, word := range []string{"hidden words", "secret words", "muted words", "closed words", "Former Name", "owner@example.org"} {
				if strings.Contains(all, word) {
					t.Errorf("%q was exported", word)
				}
			}
			// The owner's hash is among the texts, which can be erased, and not in a table.
			if owner := "text of " + shown.AgentID.String() + `: {"owner":"`; strings.Count(all, `"owner":"`) != 1 || !strings.Contains(all, owner) {
				t.Error("the hash of the shown agent's owner is not in its texts alone")
			}
			if !strings.Contains(all, "shown words") {
				t.Error("a public text was not exported")
			}
			if n := strings.Count(all, "prediction "+secret.ID.String()); n != 0 {
				t.Errorf("an unrevealed prediction was exported")
			}
			for _, p := range []prediction.Prediction{hidden, muted, closed, shown} {
				if n := strings.Count(all, "prediction "+p.ID.String()); n != 1 {
					t.Errorf("prediction %s was exported %d times, want once", p.ID, n)
				}
			}
		})
	}
}

// TestOwnerHashes checks that the hash of an owner is the same for its agents, and not that of an owner with the same
// name at another identity provider.
func TestOwnerHashes(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenAt(t, seededURL(t, kind))
			var agents []string
			err := prediction.Select(db).ColumnExpr("DISTINCT p.agent_id").Where("p.status = 'resolved'").OrderExpr("1").Limit(3).Scan(t.Context(), &agents)
			if err != nil || len(agents) < 3 {
				t.Fatalf("the agents %v (error %v), want 3", agents, err)
			}
			for i, issuer := range []string{"https://new.example", "https://new.example", "https://old.example"} {
				mark(t, db, "UPDATE agents SET issuer = ?, owner = '42' WHERE id = ?", issuer, agents[i])
			}
			all := exported(t, &release.Exporter{DB: db, Interval: time.Minute})
			hash := func(id string) string {
				_, rest, _ := strings.Cut(all, "text of "+id+`: {"owner":"`)
				owner, _, _ := strings.Cut(rest, `"`)
				return owner
			}
			one, same, namesake := hash(agents[0]), hash(agents[1]), hash(agents[2])
			if len(one) != 32 || same != one || len(namesake) != 32 || namesake == one {
				t.Errorf("the hashes are %q and %q of one owner, and %q of its namesake", one, same, namesake)
			}
		})
	}
}

func mark(t *testing.T, db bun.IDB, query string, args ...any) {
	t.Helper()
	result, err := db.NewRaw(query, args...).Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := result.RowsAffected(); n != 1 || err != nil {
		t.Fatalf("%s: changed %d rows (error %v), want 1", query, n, err)
	}
}

// exported returns the contents of an export as text.
func exported(t *testing.T, x *release.Exporter) string {
	t.Helper()
	ctx, dir := t.Context(), t.TempDir()
	folder := archive.OpenFolder(dir)
	w := archive.NewDayWriter(folder, "2026-11-21", "")
	if err := x.Export(ctx, w, time.Time{}, time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(ctx); err != nil {
		t.Fatal(err)
	}
	d, err := archive.OpenDay(ctx, folder, "2026-11-21")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for row, err := range archive.Rows[archive.PredictionRow](ctx, d, archive.Predictions) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "prediction %s %+v\n", row.ID, row)
	}
	for row, err := range archive.Rows[archive.AgentRow](ctx, d, archive.Agents) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "agent %+v\n", row)
	}
	for _, table := range []string{archive.Predictions, archive.Agents} {
		for row, err := range archive.TextRows(ctx, d, table) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "text of %s: %s\n", row.Record, row.Content)
		}
	}
	content, err := os.ReadFile(filepath.Join(dir, "days", "2026-11-21", archive.ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	return out.String() + string(content)
}
