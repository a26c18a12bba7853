package prediction

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/pulsecast/pulsecast/app/market"
)

// farFromMarket is the distance from the market's view at which the advice asks whether the agent chose the
// right outcome.
const farFromMarket = 0.4

// advice returns warnings about what a linked prediction will be worth. earlier tells of the agent's earlier predictions
// on the same event. said is whether one of them bounds the baseline of this one.
func (p *Publisher) advice(r *Record, to link, earlier repeats, said bool) []string {
	var out []string
	m := to.market
	view, known := m.View(to.outcome)
	if known && distanceTo(view, r.Confidence) >= farFromMarket {
		out = append(out, fmt.Sprintf("Far from the market: you say %s that %q happens, the market says %s. Check that you chose the right outcome.", percent(r.Confidence), r.Outcome, inWords(view)))
	}
	if !known || r.CreatedAt.Sub(m.ObservedAt) > p.fresh {
		out = append(out, "This market has no fresh price. Your baseline needs one that is read about two to 15 minutes after publication. Without one, this prediction will not be ranked.")
	} else {
		out = append(out, bookAdvice(view, r.Confidence)...)
	}
	out = append(out, p.liquidityAdvice(m)...)
	out = append(out, repeatAdvice(earlier)...)
	if said {
		out = append(out, "A confidence between the market's view and your previous one on this market earns nothing.")
	}
	if !m.ClosesAt.IsZero() && r.HorizonAt.Before(m.ClosesAt.Add(-24*time.Hour)) {
		out = append(out, fmt.Sprintf(
			"The market decides, not horizonAt: it is scheduled to close at %s.", m.ClosesAt.UTC().Format(time.RFC3339),
		))
	}
	return out
}

// repeatAdvice explains what an agent's earlier predictions on an event mean for the weight of the next one. Only those
// with a baseline count; see score.Weight. A pending one may still miss its baseline.
func repeatAdvice(earlier repeats) []string {
	count := earlier.pending
	if earlier.weighed != nil {
		count += *earlier.weighed
	} else if earlier.looked >= maxEarlier { // older ones may have a baseline
		return []string{"A repeat: each of your earlier predictions on this event with a baseline halves the weight of this one."}
	}
	if count == 0 {
		return nil
	}
	advice := fmt.Sprintf("A repeat: if this prediction gets a baseline, it is your %s on this event and weighs %s of the first.", ordinal(count+1), weightInWords(count))
	if earlier.pending > 0 {
		advice += " If an earlier one gets no baseline, this one weighs more."
	}
	return []string{advice}
}

// bookAdvice explains what the width of the market's book means for a confidence of p.
func bookAdvice(v market.View, p float64) []string {
	switch {
	case !v.Book:
		return []string{"No order book is known for this outcome, so the market's view is its displayed price."}
	case v.Bid <= p && p <= v.Ask:
		return []string{fmt.Sprintf("Inside the market's book (bid %s, ask %s): if the book stays like this, %s earns exactly 0.", decimal(v.Bid), decimal(v.Ask), percent(p))}
	}
	return nil
}

// liquidityAdvice warns if the market's liquidity rules out a baseline, or may do so.
func (p *Publisher) liquidityAdvice(m *market.Market) []string {
	least := decimal(p.MinLiquidity)
	switch {
	case p.MinLiquidity <= 0:
		return nil
	case m.Liquidity == nil:
		return []string{fmt.Sprintf("This market's liquidity is unknown. If it reports less than %s US dollars before or after publication, there is no baseline and this prediction will not be ranked.", least)}
	case *m.Liquidity < p.MinLiquidity:
		return []string{fmt.Sprintf("Too little liquidity: this market reports %s US dollars. Below %s there is no baseline. Unless its liquidity rises, this prediction will not be ranked.", decimal(math.Floor(*m.Liquidity)), least)}
	}
	return nil
}

// distanceTo returns the distance from p to the view, or 0 if p lies inside it.
func distanceTo(v market.View, p float64) float64 { return max(v.Bid-p, p-v.Ask, 0) }

// inWords writes a view for an agent: "60 % (bid 0.58, ask 0.62)".
func inWords(v market.View) string {
	if !v.Book {
		return percent(v.Price)
	}
	return fmt.Sprintf("%s (bid %s, ask %s)", percent(v.Price), decimal(v.Bid), decimal(v.Ask))
}

func readAs(r *Record, to link) string {
	if to.market == nil {
		return fmt.Sprintf("%s that the answer to %q is yes; no market to compare with", percent(r.Confidence), r.Title)
	}
	view, known := to.market.View(to.outcome)
	if !known {
		return fmt.Sprintf("%s that %s; the market's price is unknown", percent(r.Confidence), r.Outcome)
	}
	return fmt.Sprintf("%s that %s; the market says %s", percent(r.Confidence), r.Outcome, inWords(view))
}

// percent writes a probability as a percentage with at most two decimals and no trailing zeros.
func percent(p float64) string { return fmt.Sprintf("%g %%", math.Round(p*1e4)/100) }

// decimal writes a number with at most four decimals and no trailing zeros.
func decimal(x float64) string { return strconv.FormatFloat(math.Round(x*1e4)/1e4, 'f', -1, 64) }

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

func weightInWords(n int) string {
	if n > 20 {
		return "less than a millionth"
	}
	return fmt.Sprintf("1/%d", 1<<n)
}
