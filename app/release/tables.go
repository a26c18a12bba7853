package release

import (
	"fmt"

	"github.com/pulsecast/pulsecast/app/archive"
)

// descriptions say what a row of each table is.
var descriptions = map[string]string{
	archive.Markets:     "A market as its source describes it, without prices: at the first reading of a day, and when it changed.",
	archive.Events:      "An event that groups markets, as its source describes it: at the first reading of a day, and when it changed.",
	archive.Prices:      "A reading of an open market: every outcome's price, the best bid and ask, liquidity and volume.",
	archive.News:        "A reading of a post or an article that differs from the last one: its score, comments and position.",
	archive.Closings:    "A reading of a closed market that differs from the last one.",
	archive.Outcomes:    "The outcome of a market, decided or corrected that day.",
	archive.Predictions: "A prediction that was resolved or voided that day, with its baseline and scores.",
	archive.Ledger:      "An entry of the ledger of scores, created that day.",
	archive.References:  "A prediction of a reference agent that was settled that day.",
	archive.Boards:      "A row of the first boards built that day, with the prior and the thresholds.",
	archive.Agents:      "An agent named in the other tables of the day.",
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

// Citation returns the text with which to cite a release of an installation.
func Citation(name, baseURL string) string {
	if name == "" {
		name = "Pulsecast"
	}
	return fmt.Sprintf("%s. Predictions, prices and scores, %s/data. Name the days that you used and the SHA-256 of the last day's manifest.", name, baseURL)
}

// EmptyNote says why a release lists no days.
func EmptyNote(archived bool) string {
	if !archived {
		return "This installation keeps no archive, so it publishes no data."
	}
	return "No day is sealed yet. A day is sealed about 15 minutes after it has ended (UTC)."
}
