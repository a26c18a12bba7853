package demo

import (
	"fmt"
	"math"
	"time"

	"github.com/pulsecast/pulsecast/app/news"
)

// sampleNews returns the made-up posts, all from the last 36 hours. Their addresses are on domains reserved for
// examples.
func sampleNews(now time.Time) []news.Item {
	var out []news.Item
	for c, community := range news.Communities {
		for i, p := range posts[community] {
			rolls := dice("post " + p.title)
			id := fmt.Sprintf("sample-n%d%02d", c+1, i+1)
			heat := math.Exp(8.6 - 0.33*float64(i) + 0.5*rolls.NormFloat64())
			item := news.Item{
				ID: id, Source: Source, Community: community, Title: p.title, Summary: p.summary, Flair: p.flair,
				Score: int(heat), Comments: int(heat*(0.05+0.25*rolls.Float64())) + 3, ScoreKnown: true,
				Permalink: "https://example.com/c/" + community + "/" + id,
				Author:    posters[rolls.IntN(len(posters))], SelfPost: p.self,
				PostedAt: now.Add(-time.Duration((0.6 + 34*rolls.Float64()) * float64(time.Hour))).Truncate(time.Second),
				Position: i, ObservedAt: now, Sample: true,
			}
			item.URL = "https://example.org/news/" + slug(p.title)
			if p.self {
				item.URL = item.Permalink
			}
			out = append(out, item)
		}
		out = append(out, sampleOddNews(now, community, c+1, len(posts[community]))...)
	}
	return out
}

// sampleOddNews returns the posts of a community that have something missing. position is that of the first
// one.
func sampleOddNews(now time.Time, community string, number, position int) []news.Item {
	var out []news.Item
	for _, p := range oddPosts {
		if p.community != community {
			continue
		}
		rolls := dice("post " + p.title)
		id := fmt.Sprintf("sample-n%d%02d", number, position+len(out)+1)
		item := news.Item{
			ID: id, Source: Source, Community: community, Title: p.title, Summary: p.summary, Flair: p.flair,
			Permalink: "https://example.com/c/" + community + "/" + id, SelfPost: p.self, Author: one(posters, rolls),
			PostedAt: now.Add(-time.Duration((1 + 30*rolls.Float64()) * float64(time.Hour))).Truncate(time.Second),
			Position: position + len(out), ObservedAt: now, Sample: true,
		}
		if item.URL = "https://example.org/news/" + slug(p.title); p.self {
			item.URL = item.Permalink
		}
		if p.deleted {
			item.Author = "[deleted]"
		}
		if item.ScoreKnown = !p.unscored; item.ScoreKnown {
			item.Score, item.Comments = rolls.IntN(40), rolls.IntN(25)
		}
		out = append(out, item)
	}
	return out
}
