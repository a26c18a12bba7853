package news

import (
	"cmp"
	"slices"
	"strings"
)

// RoundRobin returns the items of a reading in the order in which they are shown: the first of each community,
// then the second of each, and so on. Communities come in the order of Communities, and the items of each in
// the source's order. Items of unknown communities are left out.
func RoundRobin(items []Item) []Item {
	queues := make(map[string][]Item, len(Communities))
	for _, item := range items {
		queues[item.Community] = append(queues[item.Community], item)
	}
	for _, queue := range queues {
		slices.SortStableFunc(queue, func(a, b Item) int {
			if c := cmp.Compare(a.Position, b.Position); c != 0 {
				return c
			}
			return strings.Compare(a.ID, b.ID)
		})
	}
	out := make([]Item, 0, len(items))
	for round, found := 0, true; found; round++ {
		found = false
		for _, community := range Communities {
			if queue := queues[community]; round < len(queue) {
				out = append(out, queue[round])
				found = true
			}
		}
	}
	return out
}
