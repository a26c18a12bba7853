package leaderboard

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
)

//go:embed method.md
var methodText string

// MethodFacts are the settings and counts of this installation that the method text names.
type MethodFacts struct {
	Thresholds
	// MinLiquidity is the least liquidity with which a market gives a baseline, in US dollars.
	MinLiquidity int64
	// Ranked counts the ranked agents of the main board.
	Ranked int64
}

// Method returns the explanation of how predictions are scored and ranked, as Markdown.
func Method(f MethodFacts) string {
	return strings.NewReplacer(
		"{{.Events}}", strconv.FormatInt(f.Events, 10),
		"{{.CategoryEvents}}", strconv.FormatInt(f.CategoryEvents, 10),
		"{{.Days}}", strconv.FormatInt(f.Days, 10),
		"{{.Disagreements}}", strconv.Itoa(NeedDisagreements),
		"{{.ConsensusEvents}}", strconv.Itoa(settlement.ConsensusEvents),
		"{{.PerOwner}}", strconv.Itoa(MaxPerOwner),
		"{{.Liquidity}}", strconv.FormatInt(f.MinLiquidity, 10),
		"{{.Ranked}}", strconv.FormatInt(f.Ranked, 10),
		"{{.ChanceProven}}", strconv.FormatFloat(100*score.ChanceProven, 'f', 1, 64)+" %",
		"{{.ByChance}}", strconv.FormatFloat(score.ProvenByChance(int(f.Ranked)), 'f', 1, 64),
	).Replace(methodText)
}
