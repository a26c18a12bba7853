package prediction

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
)

// TestSpansGoBack checks that looks of few spans cover the time back to an older moment, newest first, without
// gaps or overlaps. No look is much longer than those before it together, also not just after the end of a long
// span.
func TestSpansGoBack(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 4000 {
		oldest := random.Int64N(1 << 36)
		from := oldest + random.Int64N(1<<random.IntN(30)+1) - 2
		if i%2 == 0 { // just after the end of a long span
			from = from>>20<<20 + random.Int64N(20)
		}
		if oldest < 2 || from >= 1<<36 {
			continue
		}
		next, count := from, 0 // next is the newest number not yet covered
		first, growth := from-random.Int64N(1<<random.IntN(12)), 1+random.Int64N(maxGrowth)
		for _, spans := range spansBack(from, first, oldest, growth) {
			covered := from - next
			for _, key := range spans {
				digits, n := int(key>>36), key&(1<<36-1)
				if digits < shortDigits || digits > longDigits {
					t.Fatalf("from %x to %x: span %x has %d digits", from, oldest, key, digits)
				}
				shift := 4 * (longDigits - digits)
				if last := (n+1)<<shift - 1; last != next {
					t.Fatalf("from %x to %x: span %x ends at %x, want %x", from, oldest, key, last, next)
				}
				next = n<<shift - 1
				count++
			}
			if units := from - next - covered; units > max(growth*covered, from-first+1) {
				t.Fatalf("from %x to %x: a look covers %d after %d", from, oldest, units, covered)
			}
		}
		if most := 200 + int((from-oldest)>>20); next >= oldest && from >= oldest || count > most || from < oldest && count > 0 {
			t.Fatalf("from %x to %x: %d spans end at %x, want few that end at the older moment", from, oldest, count, next+1)
		}
	}
}

// TestSpansOfID checks that an id is in every span of a look that covers its time, and in no other.
func TestSpansOfID(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for range 2000 {
		id := database.FirstID(at.Add(-time.Duration(random.Int64N(int64(2 * 365 * 24 * time.Hour)))))
		own, n := spansOf(id), spanNumber(id)
		if !slices.IsSorted(own) || own[0] < 0 || len(own) != longDigits-shortDigits+1 {
			t.Fatalf("%s is in the spans %x", id, own)
		}
		from := n + random.Int64N(1<<24)
		found := 0
		for _, spans := range spansBack(from, from-20, n-random.Int64N(1<<24), 15) {
			for _, key := range spans {
				if slices.Contains(own, key) {
					found++
				}
			}
		}
		if found != 1 {
			t.Fatalf("%s is in %d spans of the looks back from %x, want 1", id, found, from)
		}
	}
}
