package release

import (
	"fmt"

	"github.com/pulsecast/pulsecast/app/archive"
)

// descriptions say what a row of each table is.
var descriptions = map[string]string{
	archive.Markets:     "What the source said of a market, apart from its prices: at the first reading of a day, and when it changed.",
	archive.Events:      "The same for the events that group markets.",
	archive.Prices:      "Each reading of each open market: every outcome's price, the best bid and ask, liquidity and volume.",
	archive.News:        "Each reading of a post or an article that says something new: its score, comments and place.",
	archive.Closings:    "Each reading of a closed market that says something new.",
	archive.Outcomes:    "What was decided of a market that day.",
	archive.Predictions: "Predictions that were resolved or voided that day, with their baselines and scores.",
	archive.Ledger:      "The rows of the ledger of scores that were written that day.",
	archive.References:  "What the reference agents said of the markets that were settled that day.",
	archive.Boards:      "The first boards built that day, with the prior and the thresholds.",
	archive.Agents:      "The agents that the other tables of the day name.",
	archive.Rules:       "The settings that baselines depend on.",
}

// Table is a table of a release.
type Table struct {
	Name, Description string
	Columns           []archive.Column
}

// Tables lists the tables of a release.
func Tables() []Table {
	list := make([]Table, len(archive.Tables))
	for i, name := range archive.Tables {
		list[i] = Table{name, descriptions[name], archive.Columns(name)}
	}
	return list
}

// Citation says how to cite a release of an installation.
func Citation(name, baseURL string) string {
	if name == "" {
		name = "Pulsecast"
	}
	return fmt.Sprintf("%s. Forecasts, prices and scores, %s/data. Name the days that you used and the SHA-256 of the last day's manifest.", name, baseURL)
}

// EmptyNote says why a release lists no day.
func EmptyNote(archived bool) string {
	if !archived {
		return "This installation keeps no archive, so it publishes no data."
	}
	return "No day is sealed yet. A day is sealed about 15 minutes after it has ended (UTC)."
}
