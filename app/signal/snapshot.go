package signal

import (
	"bytes"
	"encoding/hex"
	"sync/atomic"
	"time"

	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/database"
)

// MaxLimit is the largest number of records in one answer. DefaultLimit is the number if the caller sets no
// limit.
const (
	MaxLimit     = 100
	DefaultLimit = 24
)

// Codec tells a feed how to encode and search its records.
type Codec[T any] struct {
	// Name is the name of the feed and of the array in the answer: "markets", "news".
	Name string
	// Encode appends the JSON of one record. If it appends nothing, the record is left out.
	Encode func(dst []byte, record *T) []byte
	// Text returns the text that a search looks at, normalised for comparison.
	Text func(record *T) string
	// Cursor returns the cursor for the page after a record, in characters that need no escaping in JSON. It is
	// nil if nothing can be read beyond the snapshot.
	Cursor func(record *T) string
}

// Reading is what a source returned at one time, in the order in which it is shown.
type Reading[T any] struct {
	Records []T
	AsOf    time.Time // when the source answered
	Source  string    // the source's name
	Sample  bool      // bundled sample data
	// Interval is the time between two readings of this source. A reading older than three intervals is stale.
	Interval time.Duration
}

// Snapshot is one encoded reading. It never changes, and its methods are safe for concurrent use. If AsOf is
// zero, there has been no reading yet.
type Snapshot[T any] struct {
	Reading[T]
	codec Codec[T]
	text  []string
	body  []byte // the start of the answer and all records, separated by commas
	ends  []int  // ends[n] is the end of the first n records in body
	fresh []byte // follows the cursor while fresh
	stale []byte // follows the cursor when stale
	tag   string // depends on the content alone, so it is the same on every node
	// answers are the answers made so far, by staleness and number of records.
	answers [2][MaxLimit + 1]atomic.Pointer[answer.Answer]
	matches matches
}

// Live reports whether there was a reading, and it isn't sample data.
func (s *Snapshot[T]) Live() bool { return !s.AsOf.IsZero() && !s.Sample }

func build[T any](codec Codec[T], reading Reading[T]) *Snapshot[T] {
	s := &Snapshot[T]{Reading: reading, codec: codec}
	s.Records = make([]T, 0, len(reading.Records))
	s.body = append(s.body, `{"ok":true,"`+codec.Name+`":[`...)
	s.ends = append(s.ends, len(s.body))
	for i := range reading.Records {
		start := len(s.body)
		if len(s.Records) > 0 {
			s.body = append(s.body, ',')
		}
		bare := len(s.body)
		s.body = codec.Encode(s.body, &reading.Records[i])
		if len(s.body) == bare {
			s.body = s.body[:start]
			continue
		}
		s.ends = append(s.ends, len(s.body))
		s.Records = append(s.Records, reading.Records[i])
		s.text = append(s.text, codec.Text(&reading.Records[i]))
	}
	asOf := "null"
	if !s.AsOf.IsZero() {
		asOf = `"` + s.AsOf.UTC().Format(time.RFC3339Nano) + `"`
	}
	s.fresh = []byte(`,"asOf":` + asOf + `,"stale":false}`)
	s.stale = []byte(`,"asOf":` + asOf + `,"stale":true}`)
	s.tag = answer.Digest(s.body, s.fresh)
	return s
}

// warm makes the most frequent forms in advance.
func (s *Snapshot[T]) warm() {
	for _, limit := range []int{DefaultLimit, MaxLimit} {
		for _, coding := range answer.Codings {
			s.Form(limit, coding, false)
		}
	}
}

// StaleIntervals is how many intervals of its feed old a reading or a price may be before it is stale.
const StaleIntervals = 3

// staleAt reports whether there is no reading, or it is older than StaleIntervals, or further in the future than an
// interval. In the future, it is from a clock that was ahead, and nothing says how old it is.
func (s *Snapshot[T]) staleAt(now time.Time) bool {
	age := now.Sub(s.AsOf)
	return s.AsOf.IsZero() || age > StaleIntervals*s.Interval || age < -s.Interval
}

// givesWay reports whether a reading taken at asOf replaces the snapshot: a newer one or, if the snapshot is from a
// clock that was ahead, any other.
func (s *Snapshot[T]) givesWay(asOf, now time.Time) bool {
	return asOf.After(s.AsOf) || s.ahead(now) && !asOf.Equal(s.AsOf)
}

func (s *Snapshot[T]) ahead(now time.Time) bool { return s.AsOf.After(database.LatestPlausible(now)) }

// Text returns the text of record i that a search looks at, normalised for comparison.
func (s *Snapshot[T]) Text(i int) string { return s.text[i] }

// Form returns the answer with the first limit records (at most MaxLimit), in a coding. It is made on first use
// and kept in the snapshot.
func (s *Snapshot[T]) Form(limit int, coding string, stale bool) *answer.Form {
	n := min(limit, len(s.Records), MaxLimit)
	kept := &s.answers[index(stale)][n]
	if a := kept.Load(); a != nil {
		return a.Form(coding)
	}
	last := n - 1
	if n == len(s.Records) {
		last = s.end()
	}
	plain := s.close(bytes.Clone(s.body[:s.ends[n]]), last, stale)
	made := answer.New(plain, s.formTag(n, stale))
	made.SentOften = true
	kept.CompareAndSwap(nil, made)
	return kept.Load().Form(coding)
}

// end returns the record that ends a list of which the snapshot has no more. It is the last one, because there may be
// more beyond the snapshot. With fewer than MaxLimit records, the snapshot holds all of them, and end returns -1.
func (s *Snapshot[T]) end() int {
	if len(s.Records) < MaxLimit {
		return -1
	}
	return len(s.Records) - 1
}

// close ends an answer. The next page begins after record last. If last is -1, there is no next page.
func (s *Snapshot[T]) close(plain []byte, last int, stale bool) []byte {
	next := "null"
	if last >= 0 && s.codec.Cursor != nil {
		next = `"` + s.codec.Cursor(&s.Records[last]) + `"`
	}
	plain = append(plain, `],"nextCursor":`+next...)
	if stale {
		return append(plain, s.stale...)
	}
	return append(plain, s.fresh...)
}

func (s *Snapshot[T]) formTag(n int, stale bool) string {
	tag := s.tag + "-" + hex.EncodeToString([]byte{byte(n)})
	if stale {
		tag += "-s"
	}
	return tag
}

func index(stale bool) int {
	if stale {
		return 1
	}
	return 0
}
