package prediction

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// TestSpansGoBack checks that few spans cover the time from one id back to an older one, newest first, without
// gaps or overlaps.
func TestSpansGoBack(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	at := func(span int64) (id uuid.UUID) {
		for i := range 5 {
			id[i] = byte(span << 4 >> (8 * (4 - i)))
		}
		return id
	}
	for range 2000 {
		oldest := random.Int64N(1 << 36)
		from := oldest + random.Int64N(1<<random.IntN(30)+1) - 2
		if oldest < 2 || from >= 1<<36 {
			continue
		}
		spans := spansBack(at(from), at(oldest))
		next := from // the newest number not yet covered
		for _, s := range spans {
			digits := strings.ReplaceAll(strings.TrimPrefix(s.name, "@"), "-", "")
			n, err := strconv.ParseInt(digits, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			shift := 4 * (longDigits - len(digits))
			if last := (n+1)<<shift - 1; last != next || s.units != 1<<shift {
				t.Fatalf("from %x to %x: span %s of %d units ends at %x, want %x", from, oldest, s.name, s.units, last, next)
			}
			next = n<<shift - 1
		}
		if most := 16*6 + int((from-oldest)>>20); next >= oldest && from >= oldest || len(spans) > max(most, 0) || from < oldest && len(spans) > 0 {
			t.Fatalf("from %x to %x: %d spans end at %x, want few that end at the older id", from, oldest, len(spans), next+1)
		}
	}
}
