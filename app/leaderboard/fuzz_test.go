package leaderboard

import (
	"testing"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/cursor"
)

// FuzzPosition checks that a board's cursor is refused or decodes to a position of the right
// length.
func FuzzPosition(f *testing.F) {
	f.Add(cursor.Encode("all", "", string(place(1, 2, 3, uuid.UUID{}))), "all", "")
	f.Add(cursor.Encode("30d", "crypto", "x"), "30d", "crypto")
	f.Add("", "", "")
	f.Fuzz(func(t *testing.T, s, window, category string) {
		w, err := ParseWindow(window)
		if err != nil {
			return
		}
		got, err := decodePosition(Filter{Window: w, Category: category, Cursor: s})
		if err == nil && len(got) != len(place(0, 0, 0, uuid.UUID{})) {
			t.Errorf("%q gives a position of %d bytes", s, len(got))
		}
	})
}
