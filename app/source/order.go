package source

import "github.com/pulsecast/pulsecast/app/news"

// Arrange keeps the first item with each id. It numbers the items of each community from 0, in order.
func Arrange(items []news.Item) []news.Item {
	seen := make(map[string]bool, len(items))
	next := make(map[string]int, len(news.Communities))
	out := items[:0:0]
	for _, item := range items {
		if seen[item.ID] {
			continue
		}
		seen[item.ID] = true
		item.Position = next[item.Community]
		next[item.Community]++
		out = append(out, item)
	}
	return out
}

// Add adds the counts of another batch.
func (d Dropped) Add(other Dropped) {
	for reason, n := range other {
		d[reason] += n
	}
}
