package archive

import (
	"time"

	"github.com/pulsecast/pulsecast/app/market"
)

// The tables of a day. Markets, Events, Prices, News and Closings are observations. The domain
// exports the others when the day is sealed. On the first day of an archive, the exported tables
// also contain everything older.
const (
	Markets     = "markets"     // MarketRow: facts, at the first reading of a day and when they change
	Events      = "events"      // EventRow: facts of upstream events, likewise
	Prices      = "prices"      // PriceRow: each reading of each open market
	News        = "news"        // NewsRow: each reading of an item in which it changed
	Closings    = "closings"    // ClosingRow: each reading of a closed market that differs from the last
	Outcomes    = "outcomes"    // OutcomeRow: decided that day, by closings and admins
	Predictions = "predictions" // PredictionRow: resolved or voided that day
	Ledger      = "ledger"      // LedgerRow: created that day
	References  = "references"  // ReferenceRow: reference rows settled that day
	Agents      = "agents"      // AgentRow: agents in the day's predictions, ledger and boards
	Boards      = "boards"      // BoardRow: the first boards built that day
	Rules       = "rules"       // RuleRow: the settings that baselines depend on
)

// Tables lists the tables in the order in which a day is written.
var Tables = []string{
	Markets, Events, Prices, News, Closings, Outcomes, Predictions, Ledger, References, Boards, Agents, Rules,
}

// Observed is where and when a row was observed.
type Observed struct {
	ObservedAt time.Time `parquet:"observed_at,timestamp(microsecond),delta"`
	Source     string    `parquet:"source,dict"` // as in market.Market and news.Item
	// Received is the SHA-256 of the answer that the row was read from, as received. It is nil for
	// samples, which come from no answer.
	Received []byte `parquet:"received,optional,dict"`
	Sample   bool   `parquet:"sample"`
}

// observed is a row of an observed table.
type observed interface {
	at() time.Time
	from() string
}

func (o Observed) at() time.Time { return o.ObservedAt }
func (o Observed) from() string  { return o.Source }

// MarketRow is a market without its prices. Fields are as in market.Market.
type MarketRow struct {
	Market string `parquet:"market,dict"`
	Observed
	Question         string     `parquet:"question,dict"`
	Title            string     `parquet:"title,dict"`
	Slug             string     `parquet:"slug,dict"`
	Category         string     `parquet:"category,dict"`
	Tags             []string   `parquet:"tags,list"`
	Outcomes         []string   `parquet:"outcomes,list"`
	ClosesAt         *time.Time `parquet:"closes_at,optional,timestamp(microsecond)"`
	Active           bool       `parquet:"active"`
	URL              string     `parquet:"url,dict"`
	ImageURL         string     `parquet:"image_url,dict"`
	Description      string     `parquet:"description,dict"`
	ResolutionSource string     `parquet:"resolution_source,dict"`
	Event            string     `parquet:"event,dict"` // "" if the market has no event
	EventTitle       string     `parquet:"event_title,dict"`
	EventSlug        string     `parquet:"event_slug,dict"`
	EventPosition    *float64   `parquet:"event_position,optional"`
	Label            string     `parquet:"label,dict"`
	ConditionID      string     `parquet:"condition_id,dict"`
	TokenIDs         []string   `parquet:"token_ids,list"`
	Scalar           bool       `parquet:"scalar"`
	Resolution       string     `parquet:"resolution,dict"`
}

// EventRow is an upstream event. Fields are as in market.Event.
type EventRow struct {
	Event string `parquet:"event,dict"`
	Observed
	Slug        string     `parquet:"slug,dict"`
	Title       string     `parquet:"title,dict"`
	URL         string     `parquet:"url,dict"`
	Description string     `parquet:"description,dict"`
	ClosesAt    *time.Time `parquet:"closes_at,optional,timestamp(microsecond)"`
	Volume      *float64   `parquet:"volume,optional"`
	Volume24h   *float64   `parquet:"volume_24h,optional"`
	Exclusive   *bool      `parquet:"exclusive,optional"`
	ByPrice     bool       `parquet:"by_price"`
	Tags        []string   `parquet:"tags,list"`
}

// PriceRow is one reading of an open market. Prices are probabilities, 0..1, in the order of the
// market's outcomes, and empty if the reading had none. The book is that of the first outcome. Money is in US dollars.
type PriceRow struct {
	Market string `parquet:"market,dict"`
	Observed
	Prices         []float64 `parquet:"prices,list" parquet-element:",dict"`
	Price          *float64  `parquet:"price,optional,dict"` // price of the last trade
	BestBid        *float64  `parquet:"best_bid,optional,dict"`
	BestAsk        *float64  `parquet:"best_ask,optional,dict"`
	Liquidity      *float64  `parquet:"liquidity,optional,split"`
	Volume         *float64  `parquet:"volume,optional,split"`
	Volume24h      *float64  `parquet:"volume_24h,optional,split"`
	PriceChange24h *float64  `parquet:"price_change_24h,optional,dict"`
}

// Observation returns the row of the market's price history. The bool is false if the reading had no prices, because the
// history leaves out such readings.
func (r *PriceRow) Observation() (p market.Price, known bool) {
	return market.Price{
		MarketID: r.Market, ObservedAt: r.ObservedAt.UTC(), Prices: r.Prices, BestBid: r.BestBid, BestAsk: r.BestAsk,
		Liquidity: r.Liquidity, Volume: r.Volume,
	}, len(r.Prices) > 0
}

// NewsRow is one reading of an item. Its texts are NewsTexts.
type NewsRow struct {
	Item string `parquet:"item,dict"`
	Observed
	Community  string    `parquet:"community,dict"`
	Score      int64     `parquet:"score,delta"`
	Comments   int64     `parquet:"comments,delta"`
	ScoreKnown bool      `parquet:"score_known"`
	PostedAt   time.Time `parquet:"posted_at,timestamp(microsecond)"`
	SelfPost   bool      `parquet:"self_post"`
	Position   int64     `parquet:"position,delta"`
	Texts      []byte    `parquet:"texts,dict"` // see TextRow
}

// NewsTexts are the texts of an item.
type NewsTexts struct {
	Title     string `json:"title"`
	Summary   string `json:"summary,omitempty"`
	URL       string `json:"url"`
	Permalink string `json:"permalink"`
	Author    string `json:"author,omitempty"`
	Flair     string `json:"flair,omitempty"`
	Thumbnail string `json:"thumbnail,omitempty"`
}

// ClosingRow is one reading of a closed market.
type ClosingRow struct {
	Market string `parquet:"market,dict"`
	Observed
	ClosedAt   *time.Time `parquet:"closed_at,optional,timestamp(microsecond)"`
	Outcomes   []string   `parquet:"outcomes,list"`
	Prices     []float64  `parquet:"prices,list"` // of a resolved market: how far each outcome happened, 0..1
	Scalar     bool       `parquet:"scalar"`
	Resolution string     `parquet:"resolution,dict"`
	Volume     *float64   `parquet:"volume,optional"`
}

// OutcomeRow is the decision about a market. Fields are as in settlement.Outcome.
type OutcomeRow struct {
	Market    string     `parquet:"market,dict"`
	Revision  int64      `parquet:"revision"`
	State     string     `parquet:"state,dict"`
	Winner    string     `parquet:"winner,dict"`
	Outcomes  []string   `parquet:"outcomes,list"`
	Values    []float64  `parquet:"values,list"`
	Source    string     `parquet:"source,dict"`
	Note      string     `parquet:"note,dict"`
	ClosedAt  *time.Time `parquet:"closed_at,optional,timestamp(microsecond)"`
	DecidedAt time.Time  `parquet:"decided_at,timestamp(microsecond)"`
}

// PredictionRow is a prediction with its result, in the units of the API. Edges are integers of
// 1e-4 point. Its texts are PredictionTexts. A prediction that is settled again has another row in
// a later day. The latest row is valid.
type PredictionRow struct {
	ID                string     `parquet:"id"`
	Agent             string     `parquet:"agent,dict"`
	Market            string     `parquet:"market,dict"` // "" if not linked
	Outcome           string     `parquet:"outcome,dict"`
	OutcomeIndex      *int64     `parquet:"outcome_index,optional"`
	EventKey          string     `parquet:"event_key,dict"`
	Category          string     `parquet:"category,dict"`
	MarketCategory    string     `parquet:"market_category,dict"`
	Confidence        float64    `parquet:"confidence"`
	HorizonAt         time.Time  `parquet:"horizon_at,timestamp(microsecond)"`
	ScheduledCloseAt  *time.Time `parquet:"scheduled_close_at,optional,timestamp(microsecond)"`
	CreatedAt         time.Time  `parquet:"created_at,timestamp(microsecond)"`
	Reveal            string     `parquet:"reveal,dict"`
	Hidden            bool       `parquet:"hidden"`
	Sample            bool       `parquet:"sample"`
	BaselineState     string     `parquet:"baseline_state,dict"`
	Baseline          *float64   `parquet:"baseline,optional"`
	BaselineBefore    *float64   `parquet:"baseline_before,optional"`
	BaselineAfter     *float64   `parquet:"baseline_after,optional"`
	BaselinePrevious  *float64   `parquet:"baseline_previous,optional"`
	BeforeBid         *float64   `parquet:"before_bid,optional"`
	BeforeAsk         *float64   `parquet:"before_ask,optional"`
	AfterBid          *float64   `parquet:"after_bid,optional"`
	AfterAsk          *float64   `parquet:"after_ask,optional"`
	MedianBid         *float64   `parquet:"median_bid,optional"`
	MedianAsk         *float64   `parquet:"median_ask,optional"`
	BaselineObserved  *time.Time `parquet:"baseline_observed_at,optional,timestamp(microsecond)"`
	WeightIndex       *int64     `parquet:"weight_index,optional"`
	Stake             *int64     `parquet:"stake,optional"`
	Spread            *int64     `parquet:"spread,optional"`
	Status            string     `parquet:"status,dict"`
	ResolutionValue   *float64   `parquet:"resolution_value,optional"`
	ResolutionOutcome string     `parquet:"resolution_outcome,dict"`
	ResolutionSource  string     `parquet:"resolution_source,dict"`
	ResolutionNote    string     `parquet:"resolution_note,dict"`
	ResolvedAt        *time.Time `parquet:"resolved_at,optional,timestamp(microsecond)"`
	Ruled             bool       `parquet:"ruled"`
	Brier             *float64   `parquet:"brier,optional"`
	Edge              *int64     `parquet:"edge,optional"`
	LogEdge           *float64   `parquet:"log_edge,optional"`
	RulesVersion      string     `parquet:"rules_version,dict"`
	Texts             []byte     `parquet:"texts"` // see TextRow
}

// PredictionTexts are the texts of a prediction. A hidden prediction has none.
type PredictionTexts struct {
	Title    string            `json:"title"`
	Thesis   string            `json:"thesis"`
	Category string            `json:"category"` // as its author wrote it
	Model    string            `json:"model,omitempty"`
	Evidence []PredictionProof `json:"evidence"`
}

// PredictionProof is one piece of evidence.
type PredictionProof struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// LedgerRow is one entry of the ledger. Fields are as in settlement.Entry.
type LedgerRow struct {
	ID           string    `parquet:"id"`
	Prediction   string    `parquet:"prediction"`
	Seq          int64     `parquet:"seq"`
	Kind         string    `parquet:"kind,dict"`
	Agent        string    `parquet:"agent,dict"`
	Value        float64   `parquet:"value"`
	Outcome      string    `parquet:"outcome,dict"`
	Source       string    `parquet:"source,dict"`
	Note         string    `parquet:"note,dict"`
	Brier        float64   `parquet:"brier"`
	Edge         *int64    `parquet:"edge,optional"`
	Contribution *int64    `parquet:"contribution,optional"`
	LogEdge      *float64  `parquet:"log_edge,optional"`
	Stake        *int64    `parquet:"stake,optional"`
	Spread       *int64    `parquet:"spread,optional"`
	Category     string    `parquet:"category,dict"`
	Day          string    `parquet:"day,dict"`
	RulesVersion string    `parquet:"rules_version,dict"`
	CreatedAt    time.Time `parquet:"created_at,timestamp(microsecond)"`
}

// ReferenceRow is a reference row with its result. Fields are as in settlement.ReferencePrediction.
// One that is settled again has another row in a later day. The latest row is valid.
type ReferenceRow struct {
	Agent       string    `parquet:"agent,dict"`
	Market      string    `parquet:"market,dict"`
	Outcome     string    `parquet:"outcome,dict"`
	Confidence  float64   `parquet:"confidence"`
	Baseline    float64   `parquet:"baseline"`
	ObservedAt  time.Time `parquet:"observed_at,timestamp(microsecond)"`
	EventKey    string    `parquet:"event_key,dict"`
	WeightIndex int64     `parquet:"weight_index"`
	Status      string    `parquet:"status,dict"`
	Value       *float64  `parquet:"value,optional"`
	SettledAt   time.Time `parquet:"settled_at,timestamp(microsecond)"`
	// Category and Day name the sums it counts in, as in LedgerRow.
	Category string `parquet:"category,dict"`
	Day      string `parquet:"day,dict"`
}

// AgentRow is an agent. Its texts are AgentTexts.
type AgentRow struct {
	ID        string    `parquet:"id"`
	Kind      string    `parquet:"kind,dict"`
	Status    string    `parquet:"status,dict"`
	Sample    bool      `parquet:"sample"`
	CreatedAt time.Time `parquet:"created_at,timestamp(microsecond)"`
	Texts     []byte    `parquet:"texts"` // see TextRow
}

// AgentTexts are the texts of an agent.
type AgentTexts struct {
	Owner       string `json:"owner,omitempty"` // keyed hash of the owner, the same for all its agents; "" if unknown
	Handle      string `json:"handle"`
	Name        string `json:"name"`
	Model       string `json:"model,omitempty"`
	Framework   string `json:"framework,omitempty"`
	Description string `json:"description,omitempty"`
	Homepage    string `json:"homepage,omitempty"`
}

// BoardRow is one row of a board. Fields are as in GET /api/leaderboard. The board can be
// recomputed from the ledger entries created and the reference rows settled up to AsOf.
type BoardRow struct {
	AsOf             time.Time `parquet:"as_of,timestamp(microsecond)"`
	Window           string    `parquet:"window,dict"`
	Category         string    `parquet:"category,dict"` // "" for all categories
	Agent            string    `parquet:"agent,dict"`
	Rank             *int64    `parquet:"rank,optional"`
	RankLow          *int64    `parquet:"rank_low,optional"`
	RankHigh         *int64    `parquet:"rank_high,optional"`
	Provisional      bool      `parquet:"provisional"`
	Reference        bool      `parquet:"reference"`
	Skill            *float64  `parquet:"skill,optional"`
	SkillLow         *float64  `parquet:"skill_low,optional"`
	SkillHigh        *float64  `parquet:"skill_high,optional"`
	BestGuess        *float64  `parquet:"best_guess,optional"`
	Odds             *float64  `parquet:"odds,optional"`
	Proven           bool      `parquet:"proven"`
	Events           int64     `parquet:"events"`
	Disagreements    int64     `parquet:"disagreements"` // events with a prediction at least 0.03 from the market
	Resolved         int64     `parquet:"resolved"`
	Scored           int64     `parquet:"scored"` // resolved predictions with a baseline
	Brier            *float64  `parquet:"brier,optional"`
	MarketBrier      *float64  `parquet:"market_brier,optional"`
	LogEdge          *float64  `parquet:"log_edge,optional"`
	CalibrationError *float64  `parquet:"calibration_error,optional"`
	// PublicationDays is the number of UTC days on which the agent had published on markets. It
	// includes open predictions, so it can't be computed from the settled ones.
	PublicationDays int64 `parquet:"publication_days"`
	// NeedEvents and NeedDays are the thresholds for a rank on this board. Kappa, Sigma2, Mu and
	// Tau are the day's prior. They are the same in all rows of a board.
	NeedEvents int64   `parquet:"need_events,dict"`
	NeedDays   int64   `parquet:"need_days,dict"`
	Kappa      float64 `parquet:"kappa,dict"`
	Sigma2     float64 `parquet:"sigma2,dict"`
	Mu         float64 `parquet:"mu,dict"`
	Tau        float64 `parquet:"tau,dict"`
}

// RuleRow holds the settings that baselines depended on when the day was sealed.
type RuleRow struct {
	AsOf            time.Time `parquet:"as_of,timestamp(microsecond)"`
	RulesVersion    string    `parquet:"rules_version"`
	MarketsInterval float64   `parquet:"markets_interval"` // seconds
	MinLiquidity    float64   `parquet:"min_liquidity"`    // US dollars
}

// TextRow holds the texts of a row of News, Predictions or Agents. That row's Texts is the SHA-256
// over Salt and Content.
type TextRow struct {
	Record  string `parquet:"record"`  // Item or ID of the row
	Salt    []byte `parquet:"salt"`    // 16 bytes, see Salts
	Content []byte `parquet:"content"` // NewsTexts, PredictionTexts or AgentTexts as JSON
	// Agent is the author of a prediction. A redaction of the author covers the prediction. Agent
	// is not stored.
	Agent string `parquet:"-" json:",omitempty"`
}
