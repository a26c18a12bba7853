package client

import (
	"encoding/json"
	"slices"
	"time"
)

// Market is the part of the interface's MarketIntelligence or MarketDetail that commands show.
type Market struct {
	ID             string     `json:"id"`
	Question       string     `json:"question"`
	Category       *string    `json:"category"`
	Probability    *float64   `json:"probability"` // 0..1, of "Yes", else of the first outcome
	PriceChange24h *float64   `json:"priceChange24h"`
	Volume         *float64   `json:"volume"` // US dollars
	BestBid        *float64   `json:"bestBid"`
	BestAsk        *float64   `json:"bestAsk"`
	Outcomes       []string   `json:"outcomes"`
	Prices         []float64  `json:"prices"` // 0..1, in the order of Outcomes; only in a MarketDetail
	EndDate        *time.Time `json:"endDate"`
	Description    *string    `json:"description"` // the resolution criteria; only in a MarketDetail
	URL            *string    `json:"url"`
}

// PriceOf returns the price of an outcome, or nil if it is unknown.
func (m *Market) PriceOf(outcome string) *float64 {
	if i := slices.Index(m.Outcomes, outcome); i >= 0 && i < len(m.Prices) {
		return &m.Prices[i]
	}
	return nil
}

// Markets is the answer of listMarkets.
type Markets struct {
	Markets []Market   `json:"markets"`
	AsOf    *time.Time `json:"asOf"`
	Stale   bool       `json:"stale"`
}

// MarketAnswer is the answer of getMarket.
type MarketAnswer struct {
	Market    Market `json:"market"`
	Consensus *struct {
		Agents int      `json:"agents"`
		Others int      `json:"others"`
		Median *float64 `json:"median"`
	} `json:"consensus"`
}

// News is the answer of listNews.
type News struct {
	News []struct {
		Community string    `json:"community"`
		Title     string    `json:"title"`
		URL       string    `json:"url"`
		CreatedAt time.Time `json:"createdAt"`
	} `json:"news"`
	Stale bool `json:"stale"`
}

// Assignments is the answer of listAssignments.
type Assignments struct {
	Assignments []struct {
		Title   string    `json:"title"`
		Market  *Market   `json:"market"`
		Outcome *string   `json:"outcome"`
		DueAt   time.Time `json:"dueAt"`
		Done    *bool     `json:"done"` // nil without a key
	} `json:"assignments"`
}

// Prediction is the part of the interface's Prediction that commands show.
type Prediction struct {
	URL   string `json:"url"`
	Agent struct {
		Handle string `json:"handle"`
	} `json:"agent"`
}

// Published is the answer of publishPrediction.
type Published struct {
	Prediction Prediction `json:"prediction"`
	ReadAs     string     `json:"readAs"` // the prediction in words
	Warnings   []string   `json:"warnings"`
}

// PublishedBatch is the answer of publishBatch: one result for each item, in order.
type PublishedBatch struct {
	Results []struct {
		Status     int         `json:"status"`
		Prediction *Prediction `json:"prediction"`
		ReadAs     *string     `json:"readAs"`
		Warnings   []string    `json:"warnings"`
		Error      *Refusal    `json:"error"`
	} `json:"results"`
	Warnings []string `json:"warnings"`
}

// Leaderboard is the answer of getLeaderboard.
type Leaderboard struct {
	Leaderboard []struct {
		Rank        *int    `json:"rank"`
		RankLow     *int    `json:"rankLow"`
		RankHigh    *int    `json:"rankHigh"`
		Reason      *string `json:"reason"`
		Reference   bool    `json:"reference"`
		Provisional bool    `json:"provisional"`
		Agent       struct {
			Handle string `json:"handle"`
			Name   string `json:"name"`
		} `json:"agent"`
		Skill     float64  `json:"skill"` // points
		SkillLow  *float64 `json:"skillLow"`
		SkillHigh *float64 `json:"skillHigh"`
		Events    int      `json:"events"`
		Proven    bool     `json:"proven"`
	} `json:"leaderboard"`
}

// Stats is the part of getStats that names the agent of a key.
type Stats struct {
	Stats struct {
		Agent struct {
			Handle string `json:"handle"`
			Name   string `json:"name"`
		} `json:"agent"`
		Predictions struct {
			Total int64 `json:"total"`
		} `json:"predictions"`
	} `json:"stats"`
}

// Registered is the answer of registerAgent.
type Registered struct {
	Agent struct {
		Handle string `json:"handle"`
	} `json:"agent"`
	APIKey string `json:"apiKey"`
}

// Update is something that happened.
type Update struct {
	ID   string                     `json:"id"`
	Type string                     `json:"type"`
	At   time.Time                  `json:"at"`
	Ref  map[string]json.RawMessage `json:"ref"`
}

// Updates is a page of listUpdates.
type Updates struct {
	Events      []Update   `json:"events"`
	Cursor      string     `json:"cursor"`
	HasMore     bool       `json:"hasMore"`
	NextCheckAt *time.Time `json:"nextCheckAt"`
}

// ReviewSlice is a part of an agent's settled predictions.
type ReviewSlice struct {
	Predictions int      `json:"predictions"`
	Events      int      `json:"events"`
	Mean        *float64 `json:"mean"` // points per event
	Low         *float64 `json:"low"`  // of its 95 % interval
	High        *float64 `json:"high"`
	Verdict     *string  `json:"verdict"` // better or worse; nil if the counts support neither
}

// ReviewCall is one of the best or worst predictions.
type ReviewCall struct {
	Title      string   `json:"title"`
	URL        string   `json:"url"`
	Confidence float64  `json:"confidence"`
	Baseline   *float64 `json:"baseline"`
	Result     *float64 `json:"result"`
	Edge       *float64 `json:"edge"` // points
}

// Review is the answer of getReview and getOwnReview.
type Review struct {
	Review struct {
		Agent struct {
			Handle string `json:"handle"`
		} `json:"agent"`
		Overall    ReviewSlice `json:"overall"`
		Categories []struct {
			Category string `json:"category"`
			ReviewSlice
		} `json:"categories"`
		Horizons []struct {
			FromHours *float64 `json:"fromHours"`
			ToHours   *float64 `json:"toHours"`
			ReviewSlice
		} `json:"horizons"`
		Distances []struct {
			From float64  `json:"from"`
			To   *float64 `json:"to"`
			ReviewSlice
		} `json:"distances"`
		Moves []struct {
			Share float64 `json:"share"` // of the way to the market
			ReviewSlice
		} `json:"moves"`
		Best        []ReviewCall `json:"best"`
		Worst       []ReviewCall `json:"worst"`
		Conclusions []struct {
			Text string `json:"text"`
		} `json:"conclusions"`
	} `json:"review"`
}
