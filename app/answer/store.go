package answer

import (
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/pulsecast/pulsecast/app/generation"
)

const (
	// maxBody is the largest body in bytes that is kept.
	maxBody = 512 << 10
	// perBody is how many times its body a copy is counted, for its compressed forms.
	perBody = 4
	// perEntry is what a copy takes besides its key and its bodies, in bytes.
	perEntry = 1 << 10
)

// bounds are those of the two parts of a store, 64 MiB in all.
var bounds = [2]struct{ count, bytes int }{
	once:  {1 << 10, 16 << 20},
	again: {4 << 10, 48 << 20},
}

// The parts of a store.
const (
	once  = iota // asked for once
	again        // asked for more often
)

// entry is a copy that is kept.
type entry struct {
	answer *Answer
	stamp  generation.Stamp // before it was made
	exact  bool             // it has all that was committed while the primary stood there
	madeAt time.Time
	goodAt time.Time // when it was last good
	size   int
	part   int
}

// goodFor reports whether the topics of q stand where they stood before the copy was made: on
// the primary, or on the side that q is read from.
func (e *entry) goodFor(q *Query, side *generation.Side) bool {
	if q.Current && !e.exact {
		return false
	}
	return e.stamp.Same(side.Primary, q.Topics) || !q.Current && e.stamp.Same(side.Stamp, q.Topics)
}

// showsTexts reports whether no text was hidden since the copy was made.
func (e *entry) showsTexts(side *generation.Side) bool {
	return e.stamp[generation.Texts] == side.Primary[generation.Texts]
}

// store keeps the most recently used copies within its bounds.
type store struct {
	parts [2]*simplelru.LRU[any, *entry]
	bytes [2]int
}

func newStore() (s store) {
	for i := range s.parts {
		part, err := simplelru.NewLRU[any, *entry](bounds[i].count, nil)
		if err != nil {
			panic(err) // only for a bound below 1
		}
		s.parts[i] = part
	}
	return s
}

// get returns the copy under a key, good or not. One that is asked for again moves to the
// other part.
func (s *store) get(key any) *entry {
	if e, ok := s.parts[again].Get(key); ok {
		return e
	}
	e, ok := s.parts[once].Peek(key)
	if !ok {
		return nil
	}
	s.remove(key, e)
	e.part = again
	s.add(key, e)
	return e
}

// put keeps a copy in the part that the one before it had, unless that one is newer.
func (s *store) put(q *Query, e *entry) {
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
	e.size = perBody*len(e.answer.plain.Body) + q.KeySize + perEntry
	s.add(q.Key, e)
}

func (s *store) remove(key any, e *entry) {
	s.parts[e.part].Remove(key)
	s.bytes[e.part] -= e.size
}

// add makes room for a copy and adds it.
func (s *store) add(key any, e *entry) {
	part := s.parts[e.part]
	for part.Len() > 0 && (part.Len() >= bounds[e.part].count || s.bytes[e.part]+e.size > bounds[e.part].bytes) {
		_, oldest, _ := part.RemoveOldest()
		s.bytes[e.part] -= oldest.size
	}
	part.Add(key, e)
	s.bytes[e.part] += e.size
}
