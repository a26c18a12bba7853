// Package news owns the items read from social news sites.
package news

import (
	"time"

	"github.com/uptrace/bun"
)

// Communities are the six the contract names, in the order they are shown.
var Communities = []string{"worldnews", "technology", "science", "futurology", "politics", "economics"}

// Item is one post. An empty string is unknown and stored as NULL where the
// contract allows null.
type Item struct {
	bun.BaseModel `bun:"table:news_items,alias:n"`

	// ID is the source's own id ("1skg0ai"); ids of Hacker News begin with "hn-", those of GDELT with "gdelt-".
	ID        string `bun:",pk"`
	Source    string // "reddit", "reddit-rss", "gdelt", "hackernews" or "sample"
	Community string // one of Communities
	Title     string
	Summary   string `bun:",nullzero"`
	// Score and Comments are as shown by the source; ScoreKnown is false where the
	// source tells neither (Atom feeds), and both are 0 then.
	Score      int
	Comments   int
	ScoreKnown bool
	URL        string // what the post links to, else its own page
	Permalink  string // absolute address of the discussion
	Author     string `bun:",nullzero"`
	PostedAt   time.Time
	SelfPost   bool   // the post is text, not a link
	Flair      string `bun:",nullzero"`
	Thumbnail  string `bun:",nullzero"` // absolute http(s) address

	// Position is the place within its community in the source's own order, from 0.
	Position   int
	ObservedAt time.Time
	Sample     bool
	// Erased says that the source has deleted the post: its texts and addresses are empty.
	Erased bool `json:"-"`

	// Received is the SHA-256 in hex of the answer that a reading came in; "" if no answer brought it.
	Received string `bun:"-" json:"-"`
}
