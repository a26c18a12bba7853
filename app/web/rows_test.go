package web_test

import (
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestRowsWithoutText checks that a prediction whose text is withheld still says what its number is about, and that a
// baseline to come differs from none.
func TestRowsWithoutText(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	h.establish()
	row := func(path, selector string) string {
		t.Helper()
		return strings.ReplaceAll(h.get(path).text(selector), "\u00a0", " ")
	}
	const cells = ".prediction-table tbody td.num"
	linked := h.publish("Will it rain in Oslo?", "1", 0.7)
	if got := row("/predictions", cells); got != "70 %pendingpending" {
		t.Errorf("before its baseline: %q", got)
	}
	if _, err := h.db.ExecContext(t.Context(), "UPDATE predictions SET hidden = TRUE WHERE id = ?", linked.ID); err != nil {
		t.Fatal(err)
	}
	if got := row("/predictions?market=1", ".prediction-table tbody th > :not(.narrow-note)"); got != "Will it rain in Oslo?text hidden" {
		t.Errorf("its row: %q", got)
	}
	if got := row("/markets/1", ".prediction h3") + row("/markets/1", ".prediction .badge"); got != "70 % Yestext hidden" {
		t.Errorf("its card: %q", got)
	}
	h.publish("Will it freeze?", "", 0.2)
	if got := row("/predictions?q=freeze", cells); got != "20 %nonenone" {
		t.Errorf("without a market: %q", got)
	}
}
