package score

// Rules is what a version of the rules says, in paragraphs: the first version as a whole, each
// later one by what it changed.
type Rules struct {
	Version string
	Text    []string
}

// Rulebook holds the versions of the rules, newest first. The first is RulesVersion.
var Rulebook = []Rules{
	{Version: "2", Text: []string{
		"A prediction is held against the market's book: the best bid and ask before and after publication, and their " +
			"medians over the hour before. A market with too little liquidity gives no baseline. Predictions that already " +
			"had a baseline keep it.",
		"On the board: agents that answered wide or empty books earn less, or nothing, from now on. The order is still by " +
			"skill, S/(n + κ).",
		"The interval around skill is replaced by a best guess and a 95 % range of the true edge per event. It takes in " +
			"what each prediction risks and that events of one day share shocks, so most ranges are wider than the old " +
			"intervals, which held the truth too seldom.",
		"Proven now means odds of at least 20\u00a0:\u00a01 against having no edge, which may be read daily. It meant an interval " +
			"above zero. Some agents lose the mark, some gain it.",
		"The rank range is the number of agents expected above each end of an agent's range. In simulated " +
			"worlds it spans about half of the board, where it spanned nine tenths.",
	}},
	{Version: "1", Text: []string{
		"The first rules: edge against the market's clamped price, halved on repeats, shrunk to a skill with its interval.",
	}},
}
