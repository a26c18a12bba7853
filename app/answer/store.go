package answer

import (
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/pulsecast/pulsecast/app/generation"
)

const (
	// maxBody is the size in bytes of the largest body that is kept.
	maxBody = 512 << 10
	// perBody is the factor by which a body is counted, to include its compressed forms.
	perBody = 4
	// perEntry is the size in bytes of a copy without its key and its bodies.
	perEntry = 1 << 10
)

// bounds holds the bounds of the two parts of a store, together 64 MiB.
var bounds = [2]struct{ count, bytes int }{
	once:  {1 << 10, 16 << 20},
	again: {4 << 10, 48 << 20},
}

// The parts of a store.
const (
	once  = iota // copies that were requested once
	again        // copies that were requested again
)

// entry is a kept copy.
type entry struct {
	answer *Answer
	stamp  generation.Stamp // values of the topics before it was made
	exact  bool             // it was read from a database with everything that was committed at stamp
	madeAt time.Time
	goodAt time.Time // when it was last good
	size   int
	part   int
}

// goodFor reports whether the topics of q have the same values as before the copy was made, on the
// primary or on the side that q is read from.
func (e *entry) goodFor(q *Query, side *generation.Side) bool {
	if q.Current && !e.exact {
		return false
	}
	return e.stamp.Same(side.Primary, q.Topics) || !q.Current && e.stamp.Same(side.Stamp, q.Topics)
}

// showsTexts reports whether no text and no agent was hidden since the copy was made.
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

// get returns the copy under a key, good or not, or nil. The second request for a copy moves it to
// the other part.
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

// put keeps a copy in place of the previous one and in the same part, unless the previous one is
// newer or the body is above maxBody.
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

// add adds a copy and evicts the least recently used ones until there is room.
func (s *store) add(key any, e *entry) {
	part := s.parts[e.part]
	for part.Len() > 0 && (part.Len() >= bounds[e.part].count || s.bytes[e.part]+e.size > bounds[e.part].bytes) {
		_, oldest, _ := part.RemoveOldest()
		s.bytes[e.part] -= oldest.size
	}
	part.Add(key, e)
	s.bytes[e.part] += e.size
}
