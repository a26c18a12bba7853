package prediction

import (
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/problem"
)

// Bounds of a prediction's fields. Lengths are in characters, except maxURL in bytes.
const (
	MaxTitle    = 300
	MaxThesis   = 10_000
	MaxEvidence = 20

	maxCategory      = 64
	maxModel         = 80
	maxName          = 300 // of a market's id and of an outcome
	maxEvidenceTitle = 300
	maxURL           = 2048
	maxHorizonYears  = 10
	// defaultHorizonDays is the horizon of a draft with DefaultHorizon if the market has no scheduled close in the
	// future. The market decides the prediction, and the horizon only informs.
	defaultHorizonDays = 30
)

// DefaultCategory is the category of a prediction sent without one.
const DefaultCategory = "general"

// Draft is a prediction as sent by an agent. A nil pointer means that the field was left out. Title and
// HorizonAt are optional if MarketID is set; see complete.
type Draft struct {
	Title      string
	Thesis     string
	Confidence *float64
	HorizonAt  *time.Time
	Category   string
	Model      string
	MarketID   string
	Outcome    string
	Evidence   []Evidence
	Reveal     Reveal // empty means RevealNow
	// DefaultHorizon says that the sender can't choose a horizon. It may then be left out for every market.
	DefaultHorizon bool
}

// Check normalises the draft (white space, letter case of the category, defaults) and returns all its errors.
func (d *Draft) Check(now time.Time) []problem.Field {
	d.Title = trimmed(d.Title)
	d.Thesis = trimmed(d.Thesis)
	d.Model = trimmed(d.Model)
	d.Outcome = strings.TrimSpace(d.Outcome)
	d.MarketID = strings.TrimSpace(d.MarketID)
	d.Category = strings.ToLower(trimmed(d.Category))
	if d.Category == "" {
		d.Category = DefaultCategory
	}
	var c checker
	linked := d.MarketID != ""
	if d.Title == "" && !linked {
		c.add("title", "is required: send 1 to %d characters, or a marketId to use its question", MaxTitle)
	}
	c.text("title", d.Title, 0, MaxTitle, false)
	c.text("thesis", d.Thesis, 1, MaxThesis, true)
	c.confidence(d.Confidence)
	c.horizon(d.HorizonAt, linked, now)
	c.label("category", d.Category, 1, maxCategory)
	c.label("model", d.Model, 0, maxModel)
	c.text("marketId", d.MarketID, 0, maxName, false)
	c.text("outcome", d.Outcome, 0, maxName, false)
	c.evidence(d.Evidence)
	c.reveal(d)
	return c.fields
}

// trimmed returns a text without the space around it, and "" for one that shows nothing.
func trimmed(text string) string {
	if plaintext.Blank(text) {
		return ""
	}
	return strings.TrimSpace(text)
}

// reveal checks the value of reveal. Whether the prediction has a market is known only later, because its title
// may link it.
func (c *checker) reveal(d *Draft) {
	switch d.Reveal {
	case RevealNow, RevealBaseline, RevealClose:
	case "":
		d.Reveal = RevealNow
	default:
		c.add("reveal", `must be "now", "baseline" (once its baseline is final) or "close" (once the market closes)`)
	}
}

type checker struct{ fields []problem.Field }

func (c *checker) add(field, format string, args ...any) {
	c.fields = append(c.fields, problem.Field{Field: field, Message: fmt.Sprintf(format, args...)})
}

func (c *checker) text(field, value string, least, most int, multiline bool) {
	if message := plaintext.CheckLength(value, least, most, multiline); message != "" {
		c.add(field, "%s", message)
	}
}

func (c *checker) label(field, value string, least, most int) {
	if message := plaintext.CheckLabel(value, least, most); message != "" {
		c.add(field, "%s", message)
	}
}

func (c *checker) confidence(p *float64) {
	const field = "confidence"
	switch {
	case p == nil:
		c.add(field, "is required: the probability from 0 to 1 that the answer to title is yes, for example 0.72")
	case math.IsNaN(*p) || *p < 0:
		c.add(field, "must be a probability from 0 to 1, for example 0.72")
	case *p >= 2 && *p <= 100: // a little over 1 is no percentage
		c.add(field, "must be a probability from 0 to 1: for %v %% send %v", *p, roundConfidence(*p/100))
	case *p > 1:
		c.add(field, "must be a probability from 0 to 1, for example 0.72")
	case math.Abs(*p-roundConfidence(*p)) > 1e-12:
		c.add(field, "may have at most four decimals: send %v", roundConfidence(*p))
	}
}

func roundConfidence(p float64) float64 { return math.Round(p*1e4)/1e4 + 0 } // adding 0 turns −0 into 0

func (c *checker) horizon(at *time.Time, linked bool, now time.Time) {
	const field = "horizonAt"
	switch {
	case at == nil && linked: // the default is the market's scheduled close
	case at == nil:
		c.add(field, "is required without a marketId: %s", aHorizon(now))
	case !at.After(now):
		c.add(field, "must lie in the future; it is now %s", now.UTC().Format(time.RFC3339))
	case at.After(now.AddDate(maxHorizonYears, 0, 0)):
		c.add(field, "may lie at most %d years ahead", maxHorizonYears)
	}
}

// aHorizon describes a valid horizon, with an example.
func aHorizon(now time.Time) string {
	return "an RFC 3339 time in the future, for example " + now.AddDate(0, 0, 30).UTC().Format("2006-01-02T00:00:00Z")
}

// complete fills in the fields that a draft about a market may leave out: the title from the market's question,
// and the horizon from its scheduled close. If the market has no scheduled close in the future, horizonAt is
// required, unless DefaultHorizon is set.
func (d Draft) complete(m *market.Market, now time.Time) (Draft, error) {
	if d.Title == "" {
		d.Title = plaintext.Cut(m.Question, MaxTitle)
	}
	if d.HorizonAt != nil {
		return d, nil
	}
	switch {
	case m.ClosesAt.After(now):
		d.HorizonAt = &m.ClosesAt
	case d.DefaultHorizon:
		d.HorizonAt = new(now.AddDate(0, 0, defaultHorizonDays))
	default:
		why := "has no scheduled close"
		if !m.ClosesAt.IsZero() {
			why = "was scheduled to close at " + m.ClosesAt.UTC().Format(time.RFC3339)
		}
		return d, problem.InvalidPrediction(problem.Field{Field: "horizonAt",
			Message: fmt.Sprintf("is required for market %s, which %s: send %s", m.ID, why, aHorizon(now))})
	}
	return d, nil
}

func (c *checker) evidence(list []Evidence) {
	if len(list) > MaxEvidence {
		c.add("evidence", "may hold at most %d items, got %d", MaxEvidence, len(list))
		return
	}
	for i := range list {
		e := &list[i]
		e.Title, e.URL = strings.TrimSpace(e.Title), strings.TrimSpace(e.URL)
		c.text(fmt.Sprintf("evidence[%d].title", i), e.Title, 1, maxEvidenceTitle, false)
		c.address(fmt.Sprintf("evidence[%d].url", i), e.URL)
	}
}

func (c *checker) address(field, value string) {
	if len(value) > maxURL {
		c.add(field, "may be at most %d bytes, got %d", maxURL, len(value))
		return
	}
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		c.add(field, "must be an absolute http(s) address, for example https://example.org/article")
		return
	}
	if u.User != nil { // https://known.example@other.example looks like an address of known.example
		c.add(field, "must not contain a user name: send %s://%s instead", u.Scheme, u.Host+u.EscapedPath())
		return
	}
	if message := plaintext.Check(value, false); message != "" {
		c.add(field, "%s", message)
	}
}
