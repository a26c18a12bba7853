package api

import (
	"github.com/pulsecast/pulsecast/app/news"
)

// newsWire is NewsIntelligence of the contract with its aliases. Every key is always present. null means
// unknown.
type newsWire struct {
	ID               string  `json:"id"`
	Community        string  `json:"community"`
	Title            string  `json:"title"`
	Summary          *string `json:"summary"`
	Score            int     `json:"score"`
	Comments         int     `json:"comments"`
	NumComments      int     `json:"numComments"`
	NumCommentsAlias int     `json:"num_comments"`
	ScoreKnown       bool    `json:"scoreKnown"`
	URL              string  `json:"url"`
	Permalink        string  `json:"permalink"`
	Author           string  `json:"author"`
	CreatedAt        string  `json:"createdAt"`
	CreatedUTC       int64   `json:"createdUtc"`
	CreatedUTCAlias  int64   `json:"created_utc"`
	IsSelf           bool    `json:"isSelf"`
	Flair            *string `json:"flair"`
	Thumbnail        *string `json:"thumbnail"`
	Sample           bool    `json:"sample"`
}

func toNewsWire(n *news.Item) newsWire {
	author := n.Author
	if author == "" {
		author = "[deleted]" // the contract requires a text; news sites show this one
	}
	seconds := n.PostedAt.Unix()
	return newsWire{
		ID: n.ID, Community: n.Community, Title: n.Title, Summary: textOrNull(n.Summary),
		Score: n.Score, Comments: n.Comments, NumComments: n.Comments, NumCommentsAlias: n.Comments, ScoreKnown: n.ScoreKnown,
		URL: n.URL, Permalink: n.Permalink, Author: author,
		CreatedAt: formatTime(n.PostedAt), CreatedUTC: seconds, CreatedUTCAlias: seconds,
		IsSelf: n.SelfPost, Flair: textOrNull(n.Flair), Thumbnail: textOrNull(n.Thumbnail), Sample: n.Sample,
	}
}

// EncodeNews appends a news item as JSON.
func EncodeNews(dst []byte, n *news.Item) []byte { return appendJSON(dst, toNewsWire(n)) }

func newsWires(items []news.Item) []newsWire {
	list := make([]newsWire, len(items))
	for i := range items {
		list[i] = toNewsWire(&items[i])
	}
	return list
}
