package demo

// Markets with the irregularities of a real source: long events, nested thresholds and dates, questions without
// a category, overdue results.

// late is an open market whose scheduled close has passed.
type late struct {
	binary
	closes float64 // the actual close, in days after the start of the demo
}

// ladder is an event of nested Yes/No markets, the rungs. The answer lies between two rungs, and every rung on
// one side of it settles at Yes.
type ladder struct {
	category string
	title    string
	criteria string
	days     float64
	volume   float64
	above    bool      // true: a rung is Yes if the answer lies above it; false: if it lies at or below it
	rungs    []choice  // with price 0
	parts    []float64 // probabilities of the intervals between rungs, one more than rungs
}

// openOdd are questions that no category fits.
var openOdd = []binary{
	{"culture", "Will the giant pumpkin of Brackwater weigh more than 900 kg on {by}?", "Resolves by the official scale of the harvest fair, to the kilogram.", 8, 0.46, 61_000},
	{"culture", "How many ducks will finish the Lower Tarn duck race: more than 2,000 by {by}?", "The organisers' count at the finish decides. A race that is called off resolves to No.", 17, 0.68, 19_000},
}

// bookless is the question of an open market without a known book.
const bookless = "Will the town clock of Oldmoor strike thirteen before {by}?"

var openBookless = binary{"culture", bookless, "A recording and the warden's log must agree.", 25, 0.09, 3_400}

// openLate are markets that wait for their results.
var openLate = []late{
	{binary{"sports", "Will the Lowland rally finish without a retired car among the leaders?", "Resolves by the final classification, which the stewards publish after their inspection.", -1.4, 0.88, 96_000}, 5},
	{binary{"economics", "Will Vallmark's harvest report show a smaller wheat crop than last year?", "Resolves by the first printed report. A report that is late resolves the question when it is out.", -3.2, 0.71, 212_000}, 9},
	{binary{"politics", "Will the Kestrian audit of campaign funds name a sitting minister?", "The published audit must name the minister in its findings, not only in its annex.", -0.5, 0.34, 508_000}, 2.5},
}

var longGroups = []group{
	{"politics", "Next chair of the Union parliament", "Resolves to Yes if {choice} is elected to the chair in a vote of the whole house.", 31, 2_900_000, []choice{
		{"Ilse Marten", "Will Ilse Marten be elected chair of the Union parliament?", 0.42},
		{"Tomas Rehn", "Will Tomas Rehn be elected chair of the Union parliament?", 0.27},
		{"Adela Quist", "Will Adela Quist be elected chair of the Union parliament?", 0.14},
		{"Bruno Falk", "Will Bruno Falk be elected chair of the Union parliament?", 0.09},
		{"Nadia Orlo", "Will Nadia Orlo be elected chair of the Union parliament?", 0.05},
	}},
	{"sports", "Lakeside Pilots vs. Redmont Foxes", "Resolves to Yes if the result after regular time is: {choice}.", 4.3, 1_120_000, []choice{
		{"Lakeside Pilots", "Will the Lakeside Pilots beat the Redmont Foxes?", 0.39},
		{"Draw", "Will Lakeside Pilots vs. Redmont Foxes end in a draw?", 0.29},
		{"Redmont Foxes", "Will the Redmont Foxes beat the Lakeside Pilots?", 0.31},
	}},
	{"sports", "Winner of the Harbour Grand Prix", "Resolves to Yes if {choice} is first in the official classification.", 10, 1_870_000, named12(
		"Will {choice} win the Harbour Grand Prix?",
		"Marek Sola", "Ines Duarte", "Kofi Brandt", "Lena Ostrov", "Hugo Vasari", "Piet Lindqvist", "Sana Idris", "Otto Kerr",
		"Jun Abara", "Rafe Monti", "Elin Voss", "Theo Grann",
	)},
	{"sports", "Winner of the Sorrel Islands regatta", "Resolves to Yes if {choice} leads the overall table after the last race.", 44, 940_000, crews(
		"Will {choice} win the Sorrel Islands regatta?",
	)},
}

// falling are the probabilities of a field, highest first.
var falling = []float64{
	0.16, 0.12, 0.09, 0.07, 0.06, 0.05, 0.045, 0.04, 0.035, 0.03, 0.028, 0.025, 0.022, 0.02, 0.018, 0.016, 0.014, 0.012, 0.011, 0.01,
}

func named12(question string, names ...string) []choice {
	prices := []float64{0.24, 0.18, 0.13, 0.11, 0.09, 0.07, 0.05, 0.04, 0.03, 0.02, 0.015, 0.01}
	return field(question, names, prices)
}

func crews(question string) []choice {
	return field(question, []string{
		"Kittiwake", "Grey Wager", "Second Wind", "Marsh Harrier", "Tide Table", "Low Lantern", "Copper Finch", "North Passage",
		"Salt Ledger", "Spindrift", "Old Bellows", "Paper Moon", "Windlass", "Bright Anchor", "Ninth Wave", "Ferryman's Due",
		"Long Reach", "Sea Thistle", "Quiet Oar", "Halyard", "Blue Margin", "Gull's Errand", "Amber Light", "Stone Skipper",
		"Fair Copy", "Cold Harbour", "Half Tide", "Drift Line", "Silver Cleat", "Morning Watch", "Far Shoal", "Open Water",
		"Kelp Runner", "Last Ferry", "Tern and Tiller", "White Ensign", "Sandbar", "Loose Canvas", "Red Buoy", "Evening Star",
	}, falling)
}

// field makes a choice of each name. Names without a price are outsiders.
func field(question string, names []string, prices []float64) []choice {
	out := make([]choice, len(names))
	for i, name := range names {
		out[i] = choice{name: name, question: chosen(question, name), price: 0.006}
		if i < len(prices) {
			out[i].price = prices[i]
		}
	}
	return out
}

var openLadders = []ladder{
	{"crypto", "Large-cap crypto index above what on {by}?", "Resolves to Yes if the index stands above {choice} at 00:00 UTC of the day.", 6, 3_450_000, true,
		rungs("Will the large-cap crypto index be above {choice} on {by}?", "3,600", "3,800", "4,000", "4,200", "4,400", "4,600", "4,800"),
		[]float64{0.03, 0.07, 0.17, 0.29, 0.24, 0.12, 0.055, 0.025}},
	{"politics", "Lindmark grid investment act in force by when?", "Resolves to Yes if the act is in force at the end of {choice}.", 70, 415_000, false,
		rungs("Will the Lindmark grid investment act be in force {choice}?", "within two weeks", "within four weeks", "within six weeks", "within eight weeks", "within ten weeks"),
		[]float64{0.05, 0.11, 0.18, 0.17, 0.12, 0.37}},
}

func rungs(question string, names ...string) []choice { return field(question, names, nil) }

// topics are the tags of each category's markets. As with a real source, some only say how a market is
// presented, and some name no known subject.
var topics = map[string][]string{
	"economics":  {"economy", "central-banks"},
	"politics":   {"politics", "elections"},
	"sports":     {"sports", "games"},
	"crypto":     {"crypto", "crypto-prices"},
	"technology": {"tech", "ai"},
	"science":    {"science", "space"},
	"climate":    {"weather", "climate"},
	"culture":    {"pop-culture", "awards"},
	"health":     {"health"},
}

// oddTags are tags that some markets also have.
var oddTags = []string{"hide-from-new", "recurring", "earn-4", "harbour-life", "weekly", "2026-predictions", "northern-league", "featured"}

// oddPost is a post with something missing.
type oddPost struct {
	community string
	post
	deleted  bool // its author's account was deleted
	unscored bool // without a score and a number of comments
}

// oddPosts come last in their communities.
var oddPosts = []oddPost{
	{"worldnews", post{"Ferry", "", "", false}, false, true},
	{"technology", post{"We moved forty services off one old machine in a weekend; here is everything that went wrong, in the order in which it did",
		"On Friday at six we froze deployments and drew the map. It had forty boxes and, as we found by Saturday noon, sixty-one arrows too few. The first surprise was a printer: the finance team's label printer asked the old machine for the time, and printed nothing without it. The second was a cron job from nine years ago that copied one file to itself every hour and thereby kept a disk awake which the archive needed. The third was ours: we had written the new addresses into a document, and the document lived on the old machine. What helped was dull. One person did nothing but write down what the others did. We moved read-only things first. We kept the old machine on for a week with its cables labelled. Nobody slept in the office. If you do this, start with the clock, then the names, then the mail, and leave the printer for last.", "Discussion", true}, true, false},
	{"science", post{"Correction to last week's post on seabird counts", "", "", true}, true, false},
	{"futurology", post{"Is it 2031 yet?", "Asking for a friend.", "", true}, false, true},
	{"politics", post{"Draft of the standing orders, all 340 pages, with the changes since the first reading marked by hand and an index that the secretariat did not want to write", "", "Document", false}, false, true},
	{"economics", post{"[deleted by the author]", "", "", true}, true, true},
}
