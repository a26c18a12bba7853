package signal

import (
	"sync/atomic"
	"time"

	"github.com/pulsecast/pulsecast/app/answer"
)

// Feed points to the newest snapshot of one kind of signal.
type Feed[T any] struct {
	codec   Codec[T]
	now     func() time.Time
	current atomic.Pointer[Snapshot[T]]
}

// NewFeed returns a feed without a reading. It serves an empty, stale answer.
func NewFeed[T any](codec Codec[T], now func() time.Time) *Feed[T] {
	f := &Feed[T]{codec: codec, now: now}
	f.current.Store(build(codec, Reading[T]{}))
	return f
}

// Name returns the name of the feed: "markets" or "news".
func (f *Feed[T]) Name() string { return f.codec.Name }

// Current returns the newest snapshot, never nil.
func (f *Feed[T]) Current() *Snapshot[T] { return f.current.Load() }

// Stale reports whether there is no reading, or the newest one is older than three intervals or of the future.
func (f *Feed[T]) Stale() bool { return f.Current().staleAt(f.now()) }

// Publish encodes a reading and makes it the current snapshot, unless the current one is as new. It reports
// whether it did. A current snapshot that is from a clock that was ahead is replaced too. The reading must not be
// changed afterwards.
func (f *Feed[T]) Publish(reading Reading[T]) bool {
	now := f.now()
	if !f.Current().givesWay(reading.AsOf, now) {
		return false
	}
	next := build(f.codec, reading)
	next.warm()
	for {
		current := f.Current()
		if !current.givesWay(next.AsOf, now) {
			return false
		}
		if f.current.CompareAndSwap(current, next) {
			return true
		}
	}
}

// Form returns the current answer with the first limit records in a coding, which is one of answer.Codings or
// answer.Identity. Once the snapshot is warm, it takes no lock and allocates nothing.
func (f *Feed[T]) Form(limit int, coding string) *answer.Form {
	s := f.Current()
	return s.Form(limit, coding, s.staleAt(f.now()))
}

// Matching returns the current answer with the first limit records that match, in a coding; see
// Snapshot.Matching.
func (f *Feed[T]) Matching(
	limit int, coding string, match func(s *Snapshot[T], i int, record *T) bool, admit Admit,
) (*answer.Form, error) {
	s := f.Current()
	return s.Matching(limit, coding, s.staleAt(f.now()), func(i int, record *T) bool { return match(s, i, record) }, admit)
}
