package answer

import (
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/pulsecast/pulsecast/app/generation"
)

const (
	// maxBody is the size in bytes of the largest body that is kept.
	maxBody = 512 << 10
	// perEntry is the size in bytes of a copy without its key and its bodies.
	perEntry = 1 << 10
)

// The parts of a store.
const (
	once  = iota // copies that were requested once
	again        // copies that were requested again
	main         // copies of main queries
	parts
)

// entry is a kept copy.
type entry struct {
	answer *Answer
	stamp  generation.Stamp // values of the topics before it was made
	exact  bool             // it was read from a database with everything that was committed at stamp
	madeAt time.Time
	goodAt time.Time // when it was last good
	part   int
	fixed  int // bytes without the bodies
	size   int // bytes at the last count
}

// count returns the bytes that the copy takes now.
func (e *entry) count() int { return e.fixed + e.answer.Size() }

// goodFor reports whether the topics of q have the same values as before the copy was made, on the
// primary or on the side that q is read from.
func (e *entry) goodFor(q *Query, side *generation.Side) bool {
	if q.Current && !e.exact || e.outlived(side) {
		return false
	}
	return e.stamp.Same(side.Primary, q.Topics) || !q.Current && e.stamp.Same(side.Stamp, q.Topics)
}

// outlived reports whether the copy is stale, although reads no longer are.
func (e *entry) outlived(side *generation.Side) bool {
	return !e.answer.StaleSince.IsZero() && side.StaleSince.IsZero()
}

// showsTexts reports whether no text and no agent was hidden since the copy was made.
func (e *entry) showsTexts(side *generation.Side) bool {
	return e.stamp[generation.Texts] == side.Primary[generation.Texts]
}

// store keeps the most recently used copies within its bounds. A form that is made later is counted
// when its copy is next requested.
type store struct {
	parts  [parts]*simplelru.LRU[any, *entry]
	bytes  [parts]int
	bounds [parts]int
}

func newStore(b Bounds) store {
	s := store{bounds: [parts]int{once: b.Once, again: b.Again, main: b.Main}}
	for i, bound := range s.bounds {
		part, err := simplelru.NewLRU[any, *entry](bound/perEntry, nil)
		if err != nil {
			panic(err) // only for a bound below perEntry
		}
		s.parts[i] = part
	}
	return s
}

// get returns the copy under a key, good or not, or nil. The second request for a copy that isn't
// main moves it to the other part.
func (s *store) get(key any) *entry {
	for i, part := range s.parts {
		e, ok := part.Get(key)
		if !ok {
			continue
		}
		if i == once || e.count() != e.size {
			s.remove(key, e)
			e.part = max(i, again)
			s.add(key, e)
		}
		return e
	}
	return nil
}

// put keeps a copy in place of the previous one and in the same part, unless the previous one is
// newer or the body is above maxBody.
func (s *store) put(q *Query, e *entry) {
	if q.Main {
		e.part = main
	}
	for _, part := range s.parts {
		if old, ok := part.Peek(q.Key); ok {
			if old.madeAt.After(e.madeAt) {
				return
			}
			e.part = old.part
			s.remove(q.Key, old)
		}
	}
	if len(e.answer.plain.Body) > maxBody {
		return
	}
	e.fixed = q.KeySize + perEntry
	s.add(q.Key, e)
}

func (s *store) remove(key any, e *entry) {
	s.parts[e.part].Remove(key)
	s.bytes[e.part] -= e.size
}

// add adds a copy and evicts the least recently used ones until there is room.
func (s *store) add(key any, e *entry) {
	part := s.parts[e.part]
	e.size = e.count()
	for part.Len() > 0 && s.bytes[e.part]+e.size > s.bounds[e.part] {
		_, oldest, _ := part.RemoveOldest()
		s.bytes[e.part] -= oldest.size
	}
	part.Add(key, e)
	s.bytes[e.part] += e.size
}
