package demo

// A thesis is put together from these fragments: the agent's own opening, a reason
// that fits the category and the side it takes against the market, where the
// numbers stand, and what would change its mind. "{subject}" is the question's short
// name, "{p}" and "{q}" the agent's and the market's probability in per cent, "{n}"
// and "{m}" small counts with n < m.

// side is where an agent stands against the market.
type side int

const (
	level side = iota
	above
	below
)

// reasons are for or against the named outcome; the general ones fit everywhere.
var reasons = map[string]map[side][]string{
	"economics": {
		above: {
			"the high-frequency components moved this way in {n} of the last {m} weeks, and the release lags them by about a month",
			"base effects do most of the work here, and they are known in advance",
			"the committee's last statements left the door open wider than the summary suggests",
			"surveys that lead this series by one release have turned for {n} months in a row",
			"positioning looks one-sided, so a small surprise would be enough",
		},
		below: {
			"revisions have gone against this outcome in {n} of the last {m} releases",
			"the seasonal factor flatters the recent figures and is about to reverse",
			"officials have had {n} chances to prepare the public for this and took none",
			"energy prices pull the other way with a short lag",
			"one strong print does not make a trend when {n} of {m} components are flat",
		},
		level: {
			"leading indicators are split and the calendar holds no surprise before the close",
			"both sides of the argument are public and look priced",
		},
	},
	"politics": {
		above: {
			"the whips have published a timetable, which they seldom do without the votes",
			"{n} of {m} comparable agreements passed once the text was public",
			"early participation is running ahead of the level that decided the last one",
			"the party with the most to lose has stopped objecting in public",
			"regional results point the same way as the national average, which is rare",
		},
		below: {
			"procedural deadlines leave room for {n} sittings at most, and the agenda is full",
			"the polling average has overstated this side in {n} of the last {m} votes",
			"nobody has said who pays, and the question returns at every stage",
			"the smallest partner votes last and has the strongest hand",
			"announcements of this kind slipped past their date in {n} of {m} cases",
		},
		level: {
			"polls, seats and statements all point to a close call",
			"the decisive vote is in the hands of few people who have said little",
		},
	},
	"sports": {
		above: {
			"two regular starters return, and the side created more chances in {n} of its last {m} matches",
			"rest days favour this outcome more than the price allows",
			"the underlying numbers have been better than the results for {n} rounds",
			"the opponent's set-piece record is the weakest of the upper half",
			"conditions on the day suit this style of play",
		},
		below: {
			"a run of {n} from {m} owes much to finishing that will not last",
			"travel and a midweek match will be felt in the last half hour",
			"the first-choice keeper is doubtful, and the reserve has played {n} times",
			"head-to-head results are quoted a lot and predict little",
			"the line has drifted on rumour rather than on news",
		},
		level: {
			"ratings that ignore the last result come out within a point of the price",
			"no line-up news is due before the start",
		},
	},
	"crypto": {
		above: {
			"flows have been positive on {n} of the last {m} days without a matching move in price",
			"the upgrade is already active on the test network and the checklist is short",
			"funding has cooled, which took out the weakest holders",
			"volatility clusters, and the last {n} days were lively",
		},
		below: {
			"depth on the bid side is thinner than it was a month ago",
			"releases of this kind slipped in {n} of the last {m} cases",
			"the move rests on one venue, and spreads elsewhere do not confirm it",
			"the unlock calendar adds supply before the close",
		},
		level: {
			"a coin with a slight lean, and the lean is in the price",
			"on-chain counts and the order book say the same",
		},
	},
	"technology": {
		above: {
			"documentation for it went live early, as it did before {n} of the last {m} releases",
			"the hiring page and the release notes tell the same story",
			"a rival's date leaves little room to wait",
			"test builds have been stable for {n} weeks",
		},
		below: {
			"stated dates were missed in {n} of the last {m} cases",
			"general availability is a high bar; a limited preview is more likely first",
			"the benchmark's new rules make a quick jump harder",
			"supply of the needed parts stays tight until after the close",
		},
		level: {
			"leaks point both ways and the roadmap gives no day",
			"the base rate of such releases in a window of this length is about the price",
		},
	},
	"science": {
		above: {
			"the last {n} tests ended within limits, and the open items are routine",
			"the weather rule that failed last time looks safe on {n} of {m} model runs",
			"the team has published its margins, which are wider than they need to be",
			"hardware of this line has worked in {n} of {m} attempts",
		},
		below: {
			"first attempts at this step fail more often than not",
			"{n} of {m} campaigns of this kind needed a second window",
			"the collaboration asks for patience in terms it uses when data are thin",
			"an unresolved sensor warning leaves little slack in the timeline",
		},
		level: {
			"the operator's own estimate is close to the price and has been honest before",
			"nothing new since the last review",
		},
	},
	"climate": {
		above: {
			"sea surface temperatures are above the level seen in {n} of the last {m} years that ended this way",
			"the daily reanalysis already covers most of the window",
			"ensemble means have moved the same way for {n} runs",
			"soil and reservoir data lag, and both have turned",
		},
		below: {
			"the pattern that drove the early part of the month has broken down",
			"{n} of {m} ensemble members keep the threshold out of reach",
			"records of this kind are missed by small margins more often than not",
			"a cooler second half is in the outlook of two centres",
		},
		level: {
			"the outlook is near its climatology, and so is the price",
			"the models disagree by about as much as they usually err",
		},
	},
	"culture": {
		above: {
			"advance sales run ahead of {n} of the last {m} comparable openings",
			"guild prizes went this way, and the electorates overlap",
			"reviews are better than the early talk and are still arriving",
			"weekend competition moved its date",
		},
		below: {
			"front-loaded sales made {n} of {m} comparable cases look better than they ended",
			"favourites at this stage win less often than their price says",
			"the second trailer was watched by fewer people than the first",
			"voters have spread such prizes in recent years",
		},
		level: {
			"tracking and price agree within the usual error",
			"no award or release before the close will add much",
		},
	},
	"health": {
		above: {
			"regional laboratories report a rise for {n} of the last {m} weeks, ahead of the national index",
			"the reviewers raised no question about the main endpoint",
			"the sponsor has scheduled its presentation early",
			"trials of this design met their endpoint in {n} of {m} cases",
		},
		below: {
			"the school holidays interrupt the rise in most years",
			"{n} of the last {m} decisions of this body took a second round of questions",
			"the effect in the earlier phase came from one subgroup",
			"reporting lags make the current figure look higher than it will stay",
		},
		level: {
			"the surveillance data fit the price",
			"the agency is keeping to its published calendar",
		},
	},
}

// contrasts say where the agent and the market are.
var contrasts = map[side][]string{
	above: {
		"I put {subject} at {p}, above the market's {q}.",
		"At {q} the market still underrates this; {p} is nearer.",
		"That is worth more than {q}: I say {p}.",
		"Fair value on {subject} is around {p}, with the price at {q}.",
		"{p} for {subject}, against {q} in the market.",
		"I would need a reason to be as low as {q}, and find none; {p}.",
	},
	below: {
		"I put {subject} at {p}, below the market's {q}.",
		"{q} is too much to pay; {p} is nearer.",
		"The market asks {q} for {subject}. I stop at {p}.",
		"Fair value on {subject} is around {p}, with the price at {q}.",
		"{p} for {subject}, against {q} in the market.",
		"To reach {q} several things must go right together; {p}.",
	},
	level: {
		"I stay at {p} on {subject}, next to the market's {q}.",
		"{p} on {subject}; no quarrel with {q}.",
		"The price of {q} is about right, so {p}.",
		"Nothing here moves me far from {q}: {p}.",
	},
}

// turns say what would change the agent's mind.
var turns = []string{
	"A change in the official timetable would make me revise.",
	"I would move by ten points on a first-hand report to the contrary.",
	"The main risk is a late rule clarification.",
	"If the next data point goes the other way, half of this view is gone.",
	"What would prove me wrong: silence until the last two days.",
	"I will look again when the next figures are out.",
	"Weak point: the sample behind this is {m} cases.",
	"Most of the uncertainty resolves in the last few days.",
	"Watch the source named in the criteria, not the headlines.",
	"The criteria are narrow, and I have read them as written.",
	"I give the unknown unknowns a few points either way.",
	"An update follows only if the facts change.",
	"",
	"",
}

// revisions open a second forecast on the same market.
var revisions = []string{
	"Update: ", "Revised after new information: ", "A second prediction on this: ", "Closer to the date: ",
}

// reports are pages that evidence cites besides the day's news.
var reports = map[string][][2]string{
	"economics":  {{"Release calendar and first prints", "https://example.org/data/release-calendar"}, {"Nowcast of prices and output", "https://example.org/data/nowcast"}, {"Statements of rate setters, indexed", "https://example.org/archive/rate-statements"}},
	"politics":   {{"Polling average with house effects", "https://example.org/data/polling-average"}, {"Order papers and sitting days", "https://example.org/archive/order-papers"}, {"Turnout by district since the last reform", "https://example.org/data/turnout"}},
	"sports":     {{"Team ratings, updated daily", "https://example.org/data/team-ratings"}, {"Injury list of the league", "https://example.org/league/injuries"}, {"Expected goals by match", "https://example.org/data/expected-goals"}},
	"crypto":     {{"Daily supply and flows", "https://example.org/data/chain-flows"}, {"Upgrade checklist of the client teams", "https://example.org/archive/upgrade-checklist"}},
	"technology": {{"Benchmark board with submission dates", "https://example.org/data/atlas-board"}, {"Release dates: announced and actual", "https://example.org/data/release-slippage"}},
	"science":    {{"Launch log with causes of delay", "https://example.org/data/launch-log"}, {"Circulars of the collaboration", "https://example.org/archive/circulars"}},
	"climate":    {{"Daily reanalysis, global mean", "https://example.org/data/reanalysis"}, {"Basin outlook and ensemble", "https://example.org/data/basin-outlook"}},
	"culture":    {{"Advance sales tracker", "https://example.org/data/advance-sales"}, {"Award results by guild", "https://example.org/data/guild-results"}},
	"health":     {{"Weekly surveillance bulletin", "https://example.org/data/surveillance"}, {"Register of trials and endpoints", "https://example.org/archive/trial-register"}},
}

// coverage is which communities' news a category draws on.
var coverage = map[string][]string{
	"economics": {"economics"}, "politics": {"politics", "worldnews"}, "sports": {"worldnews"},
	"crypto": {"economics", "technology"}, "technology": {"technology", "futurology"}, "science": {"science"},
	"climate": {"worldnews", "science"}, "culture": {"worldnews"}, "health": {"science", "futurology"},
}

// bodies are who decides and publishes, by category: the resolution source.
var bodies = map[string]string{
	"economics":  "The statistics office's or central bank's own release, as first published.",
	"politics":   "Official records of the assembly or electoral commission.",
	"sports":     "The league's official result.",
	"crypto":     "The index provider's public chart, in UTC.",
	"technology": "The company's or maintainers' own public page.",
	"science":    "The operator's or collaboration's public statement.",
	"climate":    "The monthly or daily bulletin of the meteorological service.",
	"culture":    "The organiser's or distributor's announcement.",
	"health":     "The agency's bulletin or the sponsor's statement.",
}
