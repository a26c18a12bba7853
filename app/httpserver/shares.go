package httpserver

import "slices"

// shares bounds how much one caller holds, and how much the callers of one address, owner or /48 hold together; see
// NewPlaces.
type shares struct {
	share  int // of one caller
	held   map[bucketKey]int
	shared map[bucketKey]int // as held, for the callers of one address, owner or /48 together
}

func newShares(share int) shares {
	return shares{share: share, held: map[bucketKey]int{}, shared: map[bucketKey]int{}}
}

// usedUp reports whether a caller has used up its share, or one of the sharers theirs.
func (s *shares) usedUp(by bucketKey, sharers []bucketKey) bool {
	return s.held[by] >= s.share || slices.ContainsFunc(sharers, func(key bucketKey) bool {
		return s.shared[key] >= key.shares()*s.share
	})
}

// hold adds n to what a caller and the sharers hold.
func (s *shares) hold(by bucketKey, sharers []bucketKey, n int) {
	add(s.held, by, n)
	for _, key := range sharers {
		add(s.shared, key, n)
	}
}

// add keeps no key with a count of 0, so that the map doesn't grow with every caller that ever came.
func add(held map[bucketKey]int, key bucketKey, n int) {
	if held[key] += n; held[key] == 0 {
		delete(held, key)
	}
}
