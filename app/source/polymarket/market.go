package polymarket

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/source/lenientjson"
	"github.com/pulsecast/pulsecast/app/source/sanitize"
)

// The address of the public site, for links. The API has another one.
const site = "https://polymarket.com"

// The longest texts that are kept, in runes. Real ones are far shorter; these limits protect the database from
// a flood.
const (
	maxQuestion    = 1000
	maxName        = 200
	maxDescription = 20000
)

// wireMarket is a market as Gamma sends it. Any field may be missing, null or of another type.
type wireMarket struct {
	ID               lenientjson.Text            `json:"id"`
	Question         lenientjson.Text            `json:"question"`
	GroupItemTitle   lenientjson.Text            `json:"groupItemTitle"`
	Threshold        lenientjson.Number          `json:"groupItemThreshold"`
	Slug             lenientjson.Text            `json:"slug"`
	Category         lenientjson.Text            `json:"category"`
	Tags             wireTags                    `json:"tags"`
	Events           lenientjson.Each[wireEvent] `json:"events"`
	Outcomes         lenientjson.List            `json:"outcomes"`
	OutcomePrices    lenientjson.List            `json:"outcomePrices"`
	TokenIDs         lenientjson.List            `json:"clobTokenIds"`
	LastTradePrice   lenientjson.Number          `json:"lastTradePrice"`
	BestBid          *lenientjson.Number         `json:"bestBid"` // nil if missing or null
	BestAsk          *lenientjson.Number         `json:"bestAsk"` // nil if missing or null
	Volume24h        lenientjson.Number          `json:"volume24hr"`
	DayChange        lenientjson.Number          `json:"oneDayPriceChange"`
	VolumeNum        lenientjson.Number          `json:"volumeNum"`
	Volume           lenientjson.Number          `json:"volume"`
	LiquidityNum     lenientjson.Number          `json:"liquidityNum"`
	Liquidity        lenientjson.Number          `json:"liquidity"`
	EndDate          lenientjson.Text            `json:"endDate"`
	EndDateISO       lenientjson.Text            `json:"endDateIso"`
	ClosedTime       lenientjson.Text            `json:"closedTime"`
	UMAEndDate       lenientjson.Text            `json:"umaEndDate"`
	UMAStatus        lenientjson.Text            `json:"umaResolutionStatus"`
	Active           lenientjson.Flag            `json:"active"`
	Closed           lenientjson.Flag            `json:"closed"`
	Archived         lenientjson.Flag            `json:"archived"`
	Image            lenientjson.Text            `json:"image"`
	Icon             lenientjson.Text            `json:"icon"`
	Description      lenientjson.Text            `json:"description"`
	ResolutionSource lenientjson.Text            `json:"resolutionSource"`
	ConditionID      lenientjson.Text            `json:"conditionId"`
	MarketType       lenientjson.Text            `json:"marketType"`
}

// decodeMarket decodes one record observed at the given time. closed is the state that was asked for. It counts if the
// record doesn't say whether the market is closed. The reason is "" if the record is usable, else the word under
// which it is dropped: "null", "malformed", "no_id", "no_question", "few_outcomes" or "many_outcomes". It also returns
// all events that the market belongs to.
func decodeMarket(raw []byte, at time.Time, closed bool) (m market.Market, events []market.Event, reason string) {
	if string(raw) == "null" {
		return m, nil, "null"
	}
	var w wireMarket
	if err := json.Unmarshal(raw, &w); err != nil {
		return m, nil, "malformed"
	}
	if w.Closed.Known {
		closed = w.Closed.True
	}
	m = market.Market{
		ID: strings.TrimSpace(string(w.ID)), Source: Name,
		Question: sanitize.Shorten(sanitize.Line(string(w.Question)), maxQuestion),
		Outcomes: outcomes(w.Outcomes),
		Closed:   closed, ObservedAt: at, FirstSeenAt: at,
	}
	switch {
	case !validID(m.ID):
		return m, nil, "no_id"
	case m.Question == "":
		return m, nil, "no_question"
	case len(w.Outcomes) > market.MaxOutcomes:
		return m, nil, "many_outcomes"
	case len(m.Outcomes) < 2:
		return m, nil, "few_outcomes"
	}
	w.describe(&m)
	w.quote(&m)
	w.schedule(&m)
	return m, w.events(at), ""
}

// describe sets the texts and addresses.
func (w *wireMarket) describe(m *market.Market) {
	event := w.event()
	m.EventID = name(event.ID)
	m.EventTitle, m.EventSlug = event.title(), slug(event.Slug)
	label := name(w.GroupItemTitle)
	if m.EventID != "" {
		m.EventPosition, m.Label = w.position(), withoutBlank(label)
	}
	rawEvent := sanitize.Shorten(sanitize.Line(string(event.Title)), maxQuestion)
	m.Title = cmp.Or(title(m.Question, rawEvent, label), m.EventTitle, slugWords(w.Slug), "Market "+m.ID)
	m.Slug = slug(w.Slug)
	w.tag(m)
	m.URL = publicPage(m.EventSlug, m.Slug)
	m.ImageURL = firstURL(w.Image, w.Icon, event.Image, event.Icon)
	m.Description = sanitize.Shorten(sanitize.Prose(string(w.Description)), maxDescription)
	m.ResolutionSource = resolutionSource(string(w.ResolutionSource))
	m.ConditionID = name(w.ConditionID)
	kind := name(w.MarketType)
	m.Scalar, m.ScalarUnknown = strings.EqualFold(kind, "scalar"), kind == ""
	if len(w.TokenIDs) == len(m.Outcomes) {
		m.TokenIDs = cleanAll(w.TokenIDs)
	}
}

// event returns the first event with an id, else the first event, else an empty one. A market can belong to
// several events, but is grouped with only one.
func (w *wireMarket) event() *wireEvent {
	for i := range w.Events {
		if name(w.Events[i].ID) != "" {
			return &w.Events[i]
		}
	}
	if len(w.Events) == 0 {
		return &wireEvent{}
	}
	return &w.Events[0]
}

// events converts all events of the market.
func (w *wireMarket) events(at time.Time) []market.Event {
	var out []market.Event
	for i := range w.Events {
		if e, ok := w.Events[i].event(at); ok {
			out = append(out, e)
		}
	}
	return out
}

// slugWords turns a slug into words.
func slugWords(t lenientjson.Text) string {
	return squeeze(strings.ReplaceAll(slug(t), "-", " "))
}

// tag sets the tags, and the category that the tags and the legacy categories stand for.
func (w *wireMarket) tag(m *market.Market) {
	event := w.event()
	m.Tags = market.TagSlugs(append(w.Tags.slugs(), event.Tags.slugs()...)...)
	m.Category = market.CategoryOf(append(slices.Clone(m.Tags), name(w.Category), name(event.Category))...)
}

// schedule sets the dates and the stage. A missing "active" counts as true: only "closed" and "archived" end a
// market.
func (w *wireMarket) schedule(m *market.Market) {
	m.ClosesAt = firstTime(w.EndDate, w.event().EndDate, w.EndDateISO)
	if m.Closed {
		m.ClosedAt = firstTime(w.ClosedTime, w.UMAEndDate)
	}
	active := w.Active.True || !w.Active.Known
	m.Active = active && !m.Closed && !w.Archived.True
	switch stage := strings.ToLower(name(w.UMAStatus)); stage {
	case "proposed", "disputed", "resolved":
		m.Resolution = stage
	}
}

// publicPage returns the page for readers. It uses the event's slug, because only that address shows the event,
// and the market's slug usually differs.
func publicPage(eventSlug, slug string) string {
	switch {
	case eventSlug != "":
		return site + "/event/" + url.PathEscape(eventSlug)
	case slug != "":
		return site + "/market/" + url.PathEscape(slug)
	}
	return ""
}

// resolutionSource returns an address or words. It drops an address with a scheme such as javascript or data:
// as a link it would be dangerous, and as words it is useless.
func resolutionSource(s string) string {
	s = sanitize.Shorten(sanitize.Line(s), maxQuestion)
	scheme, _, found := strings.Cut(strings.ToLower(s), ":")
	switch strings.TrimSpace(scheme) {
	case "javascript", "data", "vbscript", "file", "blob":
		if found {
			return ""
		}
	}
	return s
}

// outcomes returns the cleaned names, or nil if there are too many or any of them is empty. Without a name, the prices
// couldn't be matched.
func outcomes(names lenientjson.List) []string {
	if len(names) > market.MaxOutcomes {
		return nil
	}
	out := cleanAll(names)
	for _, o := range out {
		if o == "" {
			return nil
		}
	}
	return out
}

func cleanAll(list lenientjson.List) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = name(lenientjson.Text(s))
	}
	return out
}

func name(t lenientjson.Text) string { return sanitize.Shorten(sanitize.Line(string(t)), maxName) }

// slug returns the slug, or "" if it isn't valid as a whole. A shortened slug would be a wrong address.
func slug(t lenientjson.Text) string {
	s := sanitize.Line(string(t))
	if len(s) > maxQuestion {
		return ""
	}
	return s
}

func firstURL(candidates ...lenientjson.Text) string {
	for _, c := range candidates {
		if u := sanitize.WebURL(string(c)); u != "" {
			return u
		}
	}
	return ""
}

func firstTime(candidates ...lenientjson.Text) time.Time {
	for _, c := range candidates {
		if t := lenientjson.ParseTime(string(c)); !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// validID reports whether an id is safe as a key and as a part of a path.
func validID(id string) bool {
	return id != "" && len(id) <= 64 && strings.Trim(id, "0123456789-_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
