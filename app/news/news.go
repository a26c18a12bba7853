// Package news owns the items read from social news sites.
package news

import (
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/plaintext"
)

// Communities are the six communities of the API, in the order in which they are shown.
var Communities = []string{"worldnews", "technology", "science", "futurology", "politics", "economics"}

// The greatest lengths of an item's texts, in runes, including the "…" of a text that was cut.
const (
	TitleRunes   = 500
	SummaryRunes = 400
)

// Item is one post. An empty string means unknown, and is stored as NULL where the API allows null.
type Item struct {
	bun.BaseModel `bun:"table:news_items,alias:n"`

	// ID is the source's id ("1skg0ai"). Ids of Hacker News begin with "hn-", those of GDELT with "gdelt-".
	ID        string `bun:",pk"`
	Source    string // "reddit", "reddit-rss", "gdelt", "hackernews" or "sample"
	Community string // one of Communities
	Title     string
	Summary   string `bun:",nullzero"`
	// Score and Comments are those that the source shows. ScoreKnown is false if the source gives neither, as
	// in Atom feeds; both are then 0.
	Score      int
	Comments   int
	ScoreKnown bool
	URL        string // the address that the post links to, else its own page
	Permalink  string // absolute address of the discussion
	Author     string `bun:",nullzero"`
	PostedAt   time.Time
	SelfPost   bool   // the post is a text, not a link
	Flair      string `bun:",nullzero"`
	Thumbnail  string `bun:",nullzero"` // absolute http(s) address

	// Position is the item's place within its community in the source's order, from 0.
	Position   int
	ObservedAt time.Time
	Sample     bool
	// Erased says that the source has deleted the post: its texts and addresses are empty.
	Erased bool `json:"-"`

	// TitleSearchText and SummarySearchText are plaintext.Fold of the title and of the summary. Observe sets them, and
	// a search of the stored items looks at them.
	TitleSearchText   string `json:"-"`
	SummarySearchText string `json:"-"`

	// Received is the SHA-256, in hex, of the response that contained this reading, or "" if it didn't come in
	// a response.
	Received string `bun:"-" json:"-"`
}

// SearchableText returns what a search of the current news looks at. A word of a search has no spaces, so it begins
// a word here if it begins one in TitleSearchText or in SummarySearchText.
func (i *Item) SearchableText() string { return plaintext.Fold(i.Title + " " + i.Summary) }
