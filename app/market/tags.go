package market

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/uptrace/bun"
)

// tagged is how many open markets are read to count tags: those with the highest volume.
const tagged = 2000

// TagCount is a tag and the number of open markets that have it.
type TagCount struct {
	Tag   string
	Count int
}

// UnknownTags lists at most limit tags that the table of categories doesn't contain, most frequent first. It
// reads the open markets with the highest volume.
func (Store) UnknownTags(ctx context.Context, db bun.IDB, limit int) ([]TagCount, error) {
	var markets []Market
	err := db.NewSelect().Model(&markets).Column("id", "tags").
		Where("NOT m.closed").Where("m.active").Where("m.tags IS NOT NULL").
		OrderExpr("COALESCE(m.volume, -1) DESC, m.id").Limit(tagged).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the tags of markets: %w", err)
	}
	counts := map[string]int{}
	for i := range markets {
		for _, tag := range markets[i].Tags {
			if !TagKnown(tag) {
				counts[tag]++
			}
		}
	}
	out := make([]TagCount, 0, len(counts))
	for tag, n := range counts {
		out = append(out, TagCount{tag, n})
	}
	slices.SortFunc(out, func(a, b TagCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Tag, b.Tag))
	})
	return out[:min(limit, len(out))], nil
}
