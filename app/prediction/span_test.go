package prediction

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
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
			for _, name := range spans {
				digits := strings.ReplaceAll(strings.TrimPrefix(name, "@"), "-", "")
				n, err := strconv.ParseInt(digits, 16, 64)
				if err != nil {
					t.Fatal(err)
				}
				shift := 4 * (longDigits - len(digits))
				if last := (n+1)<<shift - 1; last != next {
					t.Fatalf("from %x to %x: span %s ends at %x, want %x", from, oldest, name, last, next)
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
