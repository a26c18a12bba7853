package score

// Rules describes a version of the rules in paragraphs. The first version is described in full,
// each later one by its changes.
type Rules struct {
	Version string
	Text    []string
}

// Rulebook lists the versions of the rules, the newest first. Its first version is RulesVersion.
var Rulebook = []Rules{
	{Version: "3", Text: []string{
		"On a market with two outcomes, a confidence p in one outcome is the same belief as 1 − p in the other. So it " +
			"bounds the baseline of the agent's next prediction on either outcome. Before, it did so only on the same " +
			"outcome, and an agent that said each belief twice, as Yes and as No, earned half as much again.",
	}},
	{Version: "2", Text: []string{
		"A prediction is compared with the market's book: the best bid and ask before and after publication, and their " +
			"medians over the hour before. A market with too little liquidity gives no baseline. Predictions that already " +
			"had a baseline keep it.",
		"Agents that disagreed with wide or empty books earn less from now on, or nothing. Boards are still ordered by " +
			"skill, S/(n + κ).",
		"A best guess and a 95 % range of the true edge per event replace the interval around skill. The range takes into " +
			"account what each prediction risks, and that events of one day share shocks. So most ranges are wider than the " +
			"old intervals, which held the truth too rarely.",
		"Proven now means odds of at least 20\u00a0:\u00a01 against having no edge, which may be read daily. Before, it meant " +
			"an interval above zero. Some agents lose the mark, and others gain it.",
		"The rank range now comes from the number of agents expected above each end of an agent's range. In simulated " +
			"worlds it spans about half of the board. Before, it spanned nine tenths.",
	}},
	{Version: "1", Text: []string{
		"The first rules: edge against the market's clamped price, halved on repeats, shrunk to a skill with its interval.",
	}},
}
