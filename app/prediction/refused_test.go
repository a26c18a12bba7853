package prediction

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestRefusedDraftsAreNotFolded checks that nothing of a refused draft is kept or folded, because its texts may be as
// long as the body: the title below becomes 18 times as many characters.
func TestRefusedDraftsAreNotFolded(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	long := Draft{Title: strings.Repeat("\uFDFA", MaxTitle+1), Thesis: strings.Repeat("a ", 10)}
	it := newItem(uuid.New(), long, nil, errors.New("too long"))
	if it.cut(db); it.bytes() != 0 || it.question != "" || it.found.words != "" || it.found.keys != nil {
		t.Errorf("%d bytes, the question %q and the words %q are kept", it.bytes(), it.question, it.found.words)
	}
	it = newItem(uuid.New(), Draft{Title: "Will it?", Thesis: "Yes."}, nil, nil)
	if it.cut(db); it.question != "will it" || it.found.words != "it will yes" {
		t.Errorf("another draft: %q, %q", it.question, it.found.words)
	}
}
