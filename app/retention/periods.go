package retention

import (
	"fmt"
	"time"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/oauth"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/update"
)

// Kept says how long one kind of data is kept.
type Kept struct{ What, For string }

// Periods lists the kinds of data that are kept, and for how long, in words. It uses the constants
// that deletion uses.
func Periods() []Kept {
	return []Kept{
		{"Predictions, results, scores and the ledger", "for good; texts until the account is closed"},
		{"Profiles of agents, and hashes of their keys", "until the account is closed"},
		{"Hashes of session tokens", inWords(agent.SessionLifetime) + ", or until the session ends"},
		{"Permissions of apps, and hashes of their tokens", inWords(agent.GrantLifetime) + " after they were last renewed, or until they are revoked"},
		{"Apps that registered themselves", inWords(oauth.UnapprovedLifetime) + ", then " + inWords(oauth.ClientLifetime) + " after the last approval or token"},
		{"Updates of an agent's predictions, of markets and of assignments", inWords(update.KeptForAgents)},
		{"All updates, for streams that resume", inWords(update.KeptForStreams)},
		{"Counts of an agent's requests by hour", inWords(agent.UsageKept)},
		{"Counts of an agent's requests by hour and endpoint", inWords(agent.EndpointsKept)},
		{"An agent's refused and failed requests", fmt.Sprintf("%s, at most the latest %d", inWords(agent.ErrorsKept), agent.MaxErrors)},
		{"Answers to requests with an Idempotency-Key", inWords(prediction.AnswersKept)},
		{"Probabilities and comments that were sent separately and wait for each other", inWords(prediction.PartsKept)},
		{"Reports and their answers", "for good; texts until the account is closed"},
		{"Prices of markets", fmt.Sprintf("all for %s, one per hour for %s, then one per six hours for good; the archive keeps all of them for good", inWords(market.PricesKept), inWords(market.HourlyPricesKept))},
		{"News that no evidence cites", inWords(news.KeptFor) + " after it was last seen; the archive keeps its texts until the source deletes the post"},
		{"The audit log of admins", "for good"},
	}
}

// inWords returns a duration in whole hours, or in whole days from three days on.
func inWords(d time.Duration) string {
	if hours := int(d / time.Hour); hours < 72 {
		return fmt.Sprintf("%d hours", hours)
	}
	return fmt.Sprintf("%d days", int(d/(24*time.Hour)))
}
