package market

import (
	"cmp"
	"slices"
	"strings"
)

// OpenByVolume returns the open markets of a reading in the order in which they are shown: highest volume
// first, unknown volume last, ties by id.
func OpenByVolume(markets []Market) []Market {
	out := slices.DeleteFunc(slices.Clone(markets), func(m Market) bool { return !m.Active || m.Closed })
	slices.SortStableFunc(out, CompareVolume)
	return out
}

// CompareVolume orders two markets as OpenByVolume does.
func CompareVolume(a, b Market) int {
	switch {
	case a.Volume == nil && b.Volume != nil:
		return 1
	case a.Volume != nil && b.Volume == nil:
		return -1
	case a.Volume != nil && *a.Volume != *b.Volume:
		return cmp.Compare(*b.Volume, *a.Volume)
	}
	return strings.Compare(a.ID, b.ID)
}
