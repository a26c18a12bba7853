package demo

// leisureKinds are the kinds of questions on sports and culture.
var leisureKinds = []kind{
	{
		about: []string{
			"win away at", "beat the", "end in a draw", "Rovers vs. Gulls", "Foxes vs. Pilots", "Gulls vs. Redmont Foxes",
			"Pilots: result", "win the Continental Cup", "cup quarter-final", "unbeaten run",
		},
		above: []string{
			"ratings that weigh the last {m} rounds by strength come out higher than the price",
			"the line-ups named today point this way",
			"rest days favour this more than the price allows",
		},
		below: []string{
			"this price rests on {n} results of the last {m} rounds, and on finishing that will not last",
			"injuries change the picture: a first-choice keeper is doubtful",
			"the line has drifted on rumour rather than on news",
		},
		level:   []string{"ratings that ignore the last result come out within a point of the price", "no line-up news is due before the start"},
		reports: [][2]string{{"Team ratings, updated daily", "https://example.org/data/team-ratings"}, {"Injury list of the league", "https://example.org/league/injuries"}},
	},
	{
		about: []string{
			"total points", "total goals", "clean sheet", "decided by one goal", "score in both halves", "red card", "lead at half time",
		},
		above: []string{
			"it happened in {n} of the last {m} matches of these sides",
			"the referee's record and the pace of both sides point this way",
		},
		below: []string{
			"the opposite happened in {n} of the last {m} meetings",
			"both sides change their game when much is at stake",
		},
		level:   []string{"a model of shots and cards agrees with the price"},
		reports: [][2]string{{"Expected goals and cards by match", "https://example.org/data/expected-goals"}},
	},
	{
		about: []string{"Team Alder", "qualifier reach"},
		above: []string{
			"the draw opened up on this side, with {n} seeds out",
			"form on this surface is better than the ranking: {n} of the last {m} won",
		},
		below: []string{
			"the last match went the full distance, and there is one day of rest",
			"head-to-head results are quoted a lot: {n} of {m}, most of them years ago",
		},
		level:   []string{"ratings by surface come out at the price"},
		reports: [][2]string{{"Ratings by surface", "https://example.org/data/surface-ratings"}},
	},
	{
		about: []string{"marathon record", "lake crossing"},
		above: []string{
			"{n} of {m} forecasts give a cool start and a following wind",
			"the pacemakers are set for a record, and two of the field can follow",
		},
		below: []string{
			"records fell in {n} of the last {m} races, and never against a wind like this",
			"the best of the field has not raced for months",
		},
		level:   []string{"weather and field are as in an average year"},
		reports: [][2]string{{"Winning times with wind and temperature", "https://example.org/data/winning-times"}},
	},
	{
		about: []string{"coastal regatta"},
		above: []string{
			"{n} of {m} forecasts keep the wind within limits to the end",
			"two reserve days are in the programme",
		},
		below: []string{
			"a calm is forecast for the last two days",
			"races were lost to weather in {n} of the last {m} editions",
		},
		level:   []string{"the organisers' own odds are those of the market"},
		reports: [][2]string{{"Races sailed and lost, by edition", "https://example.org/data/regatta-days"}},
	},
	{
		about: []string{"Sorrel Islands regatta"},
		above: []string{
			"the crew of {subject} was ahead of its handicap in {n} of the last {m} races",
			"light winds are forecast, which suit {subject}",
		},
		below: []string{
			"the discards flatter {subject}: without them it has {n} wins fewer",
			"a field of forty leaves room for one bad day, and {subject} usually has two",
		},
		level:   []string{"the table after discards puts {subject} where the price does"},
		reports: [][2]string{{"Overall table with and without discards", "https://example.org/data/regatta-table"}},
	},
	{
		about: []string{"Harbour Grand Prix"},
		above: []string{
			"the long runs of {subject} in practice were faster than the lap times show",
			"{subject} gained places at {n} of the last {m} starts, and passing is hard here",
		},
		below: []string{
			"{subject} takes a new gearbox and loses places on the grid",
			"the car of {subject} wears its tyres faster than {n} of the {m} nearest rivals'",
		},
		level:   []string{"practice and price agree on {subject}"},
		reports: [][2]string{{"Long runs in practice, by driver", "https://example.org/data/long-runs"}},
	},
	{
		about: []string{"Lowland rally"},
		above: []string{
			"the leaders finished the last {n} stages without a repair",
			"the stewards' draft, which was posted early, names no retirement among them",
		},
		below: []string{
			"the inspection took out a leading car in {n} of the last {m} years",
			"one of the leaders was towed to the service park",
		},
		level:   []string{"the provisional list and the price say the same"},
		reports: [][2]string{{"Stage times and retirements", "https://example.org/data/stages"}},
	},
	{
		about: []string{"first weekend", "100 million worldwide", "lead the weekend"},
		above: []string{
			"advance sales run ahead of {n} of the last {m} comparable openings",
			"reviews are better than the early talk and are still arriving",
		},
		below: []string{
			"front-loaded sales made {n} of {m} comparable cases look better than they ended",
			"a rival moved its date into the same weekend",
		},
		level:   []string{"tracking and price agree within the usual error"},
		reports: [][2]string{{"Advance sales tracker", "https://example.org/data/advance-sales"}},
	},
	{
		about: []string{"album of the year", "best picture", "film of the festival"},
		above: []string{
			"guild prizes went this way, and the electorates overlap",
			"it led the critics' lists in {n} of the last {m} weeks",
		},
		below: []string{
			"talk at this stage was wrong in {n} of the last {m} years",
			"juries and voters have spread such prizes in recent years",
		},
		level:   []string{"no prize that is handed out before the close will add much"},
		reports: [][2]string{{"Award results by guild", "https://example.org/data/guild-results"}},
	},
	{
		about: []string{"be renewed"},
		above: []string{
			"the crew has been asked to keep dates free, as before {n} of the last {m} renewals",
			"the series stayed in the weekly top ten longer than its first season",
		},
		below: []string{
			"completion rates fell, and the service goes by them",
			"the service ended {n} of {m} series of this cost at this age",
		},
		level:   []string{"cost and audience put it where the price is"},
		reports: [][2]string{{"Weekly top ten by hours watched", "https://example.org/data/top-ten"}},
	},
	{
		about: []string{"tour sell out"},
		above: []string{
			"{n} of {m} dates are gone, and the rest are in small halls",
			"a second night was added, which promoters do when the first is full",
		},
		below: []string{
			"two large halls still sell whole rows",
			"promoters mark dates as sold out late, or never, in {n} of {m} tours",
		},
		level:   []string{"seat maps and price agree"},
		reports: [][2]string{{"Seats left by date", "https://example.org/data/seats-left"}},
	},
	{
		about: []string{"giant pumpkin"},
		above: []string{
			"the grower's tape gave a girth that weighed more in {n} of {m} past fairs",
			"nights stayed warm into the last weeks",
		},
		below: []string{
			"the tape overstated the scale in {n} of the last {m} years",
			"heavy ones split, and this one has a soft spot at the stem",
		},
		level:   []string{"the grower's tape and the price agree"},
		reports: [][2]string{{"Girth and weight at past fairs", "https://example.org/data/pumpkins"}},
	},
	{
		about: []string{"ducks"},
		above: []string{
			"sales of numbered ducks passed last year's with {n} days to go",
			"the river is high, so few will be stranded",
		},
		below: []string{
			"a third of the ducks did not finish in {n} of the last {m} races",
			"low water leaves them in the reeds above the bridge",
		},
		level:   []string{"ducks sold, less the usual losses, give the line"},
		reports: [][2]string{{"Ducks sold and counted", "https://example.org/data/ducks"}},
	},
	{
		about:   []string{"town clock"},
		above:   []string{"the warden has oiled the train {n} times and it still slips"},
		below:   []string{"it has struck thirteen in {n} of the last {m} decades at most"},
		level:   []string{"nothing is known that would move a price"},
		reports: [][2]string{{"The warden's log", "https://example.org/archive/clock-log"}},
	},
}
