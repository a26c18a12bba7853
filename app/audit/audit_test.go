package audit_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestAuditIsAppendOnly(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for i, e := range []audit.Entry{
			{Actor: "eve", Action: audit.AgentDisabled, Target: "agent:ada", Note: "spam"},
			{Actor: "eve", Action: audit.Ruling + ".prediction_settled", Target: "prediction:1"},
			{Actor: "olaf", Action: audit.Ruling + ".market_voided", Target: "market:1"},
			{Actor: "olaf", Action: audit.AgentEnabled, Target: "agent:ada"},
		} {
			e.CreatedAt = start.Add(time.Duration(i) * time.Hour)
			err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return audit.Record(ctx, tx, e) })
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, query := range []string{"UPDATE audit_log SET actor = 'nobody'", "DELETE FROM audit_log"} {
			if _, err := db.ExecContext(t.Context(), query); err == nil || !strings.Contains(err.Error(), "append-only") {
				t.Errorf("%s: %v", query, err)
			}
		}
		for name, c := range map[string]struct {
			filter audit.Filter
			want   string
		}{
			"all":    {audit.Filter{}, "agent_enabled ruling.market_voided ruling.prediction_settled agent_disabled"},
			"actor":  {audit.Filter{Actor: "eve"}, "ruling.prediction_settled agent_disabled"},
			"action": {audit.Filter{Action: audit.Ruling}, "ruling.market_voided ruling.prediction_settled"},
			"target": {audit.Filter{Target: "agent:ada"}, "agent_enabled agent_disabled"},
			"time":   {audit.Filter{From: start.Add(time.Hour), To: start.Add(3 * time.Hour)}, "ruling.market_voided ruling.prediction_settled"},
		} {
			var got []string
			c.filter.Limit = 1 // page by page
			for {
				list, next, err := audit.List(t.Context(), db.Reader, c.filter)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range list {
					got = append(got, e.Action)
				}
				if next == "" {
					break
				}
				c.filter.Cursor = next
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s: %s", name, got)
			}
		}
	})
}

// TestActionsAreComplete checks that Actions lists every constant of the actions.
func TestActionsAreComplete(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "audit.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, d := range file.Decls {
		block, ok := d.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST || !block.Lparen.IsValid() {
			continue
		}
		for _, spec := range block.Specs {
			value, err := strconv.Unquote(spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, value)
		}
	}
	if got := audit.Actions(); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
