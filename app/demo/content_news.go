package demo

// post is a made-up news item. Its position in the list is its position in the community. Score, comments and
// age are drawn at random; the score falls with the position.
type post struct {
	title   string
	summary string // of a link, or the text of a self post; optional
	flair   string
	self    bool
}

// posts are the news items of each community, in the order in which the source would show them.
var posts = map[string][]post{
	"worldnews": {
		{"Kestrian parties publish the text of their coalition agreement", "The 112-page draft leaves the pension question to a commission; all three parties vote on it this month.", "Politics", false},
		{"Sorrel Islands fisheries talks resume after a two-week break", "Delegations say the quota annex is the only open chapter.", "", false},
		{"Norvania's electoral commission certifies four candidates", "Two further applications failed for lack of valid signatures.", "Elections", false},
		{"Storm swell closes northern ports for a second day", "Ferry operators expect normal service by the weekend.", "", false},
		{"Lindmark rail unions and operator agree on a mediator", "", "", false},
		{"Vallmark counts record number of postal ballots before the regional vote", "Requests are up by a fifth on the last comparable vote.", "Elections", false},
		{"Undersea cable Aurora back in service, operator says", "Repair took eleven days after an anchor strike.", "", false},
		{"Tarsovian assembly to debate its standing orders", "Opposition groups want a lower bar for motions of no confidence.", "Politics", false},
		{"Harvest festival draws a million visitors despite rain", "", "", false},
		{"Union agrees on common rules for ferry emissions", "The rules take effect in stages over six years.", "", false},
		{"Meridia reopens its northern border crossing to freight", "Passenger traffic follows once inspections are complete.", "", false},
		{"Mountain tunnel breakthrough a month ahead of plan", "Engineers met within four centimetres of the projected axis.", "", false},
		{"Drought order in southern Vallmark eased for orchards", "Household limits stay in place until the reservoirs recover.", "Climate", false},
	},
	"technology": {
		{"Helix Labs schedules an event for \"what comes next\"", "The invitation names no product; the company's status page lists a maintenance window on the same day.", "AI", false},
		{"Atlas benchmark maintainers tighten rules on contamination", "Scores submitted from today need a held-out run by the maintainers.", "AI", false},
		{"Quillon confirms first shipments of its inference chip", "", "Hardware", false},
		{"A four-hour cloud outage traced to a certificate rotation", "The provider's incident report lists three missed alarms.", "", false},
		{"Show: a reader for tide tables that fits in 8 kB", "I wrote it for a solar-powered display at our harbour. Source and wiring plan are in the comments.", "Project", true},
		{"Lumen's technical sheet leaks; battery section is blacked out", "", "Hardware", false},
		{"Regulator publishes the plan for the 6 GHz auction", "Bidding opens in two weeks, with a reserve price slightly below the last round.", "Policy", false},
		{"Fathom's browser turns on tracker blocking in its beta channel", "The stable release is said to follow after two weeks of tests.", "", false},
		{"Open-weights model Marble gets a long-context update", "Early reports show gains on code and none on arithmetic.", "AI", false},
		{"What do you use to keep small servers up to date?", "Three machines, no orchestration, one person. I would like fewer surprises on Fridays.", "Discussion", true},
		{"Printer drivers removed from the next desktop release", "", "", false},
		{"A field guide to reading datacentre power contracts", "Why the price per megawatt-hour is the least interesting number in them.", "", false},
		{"City library moves its catalogue to a local-first app", "Branches keep lending through network failures.", "", false},
	},
	"science": {
		{"Aster-9 rolls out to the pad for its next attempt", "The operator gives a 70% chance of acceptable weather on the first day.", "Space", false},
		{"Selene-4 lowers its orbit ahead of the landing", "Two burns of 40 seconds each went as planned.", "Space", false},
		{"Deep Array collaboration reports one unusual burst, asks for patience", "A second detection from the same position would settle its origin.", "Astronomy", false},
		{"Halden fusion device completes a 700-second discharge", "Heating power was raised in three steps; the divertor stayed within limits.", "Physics", false},
		{"Collider teams combine their data; the excess shrinks", "Local significance falls below three sigma in the joint analysis.", "Physics", false},
		{"Old herbarium sheets show earlier flowering across the north", "Researchers dated 40,000 specimens with the help of volunteers.", "Biology", false},
		{"Phase-three trial of malaria vaccine MX-3 completes enrolment", "Results are expected within the quarter.", "Medicine", false},
		{"Seabed map of the Sorrel shelf finished after nine years", "", "Earth science", false},
		{"Spacewalk ends early after a glove sensor warning", "The crew is safe; the remaining task moves to the second walk.", "Space", false},
		{"Replication study finds half of the effect, in twice the sample", "The authors of both studies publish a joint note.", "Psychology", false},
		{"Ask: how do you archive twenty years of lab notebooks?", "Paper, three formats of disk, and one very determined cat.", "Discussion", true},
		{"A cheaper catalyst splits water for 3,000 hours", "", "Chemistry", false},
	},
	"futurology": {
		{"What a grid with 90% wind looks like on a still day", "Operators of three islands describe two winters of practice.", "Energy", false},
		{"Household robots: what the second year of rentals taught us", "Most hours went into folding laundry, most repairs into wheels.", "Robotics", false},
		{"Weekly thread: forecasts you got wrong, and why", "Post the probability you gave, what happened, and what you would look at next time.", "Discussion", true},
		{"A city plans for trams without drivers and with conductors", "", "Transport", false},
		{"Long-duration storage contracts signed for the first time at scale", "Iron-air cells are to cover 100 hours at rated power.", "Energy", false},
		{"Seven questions to ask of any claim about machine intelligence", "Who measured it, on what, and what would have counted against it.", "AI", false},
		{"Cargo airship completes its crossing in 61 hours", "The operator wants weekly flights by next summer.", "Transport", false},
		{"Vertical farms close, tunnels of lettuce stay", "The survivors sell herbs within an hour of harvest.", "Food", false},
		{"Could open weights hold the benchmark record by next year?", "I collected release gaps of the last three years; the lag is shrinking, but not evenly.", "AI", true},
		{"Desalination by night: cheap power changes the sums", "", "Water", false},
		{"Once-weekly insulin and the end of the pill box", "What approval would mean for home care.", "Health", false},
		{"Letters from a town that turned off its street lights", "Moths returned; so did a debate on safety.", "Society", false},
	},
	"politics": {
		{"Lindmark grid bill clears its committee with amendments", "The final reading is due before the recess.", "Legislation", false},
		{"Poll of polls: Civic Alliance keeps a narrow lead in Norvania", "The average moved by less than a point in two weeks.", "Elections", false},
		{"Kestrian party members begin their postal vote on the coalition", "The smallest of the three parties counts last.", "", false},
		{"Meridian interior minister rejects calls to resign over procurement", "The audit office reports in a month.", "", false},
		{"Turnout in early Vallmark voting is ahead of the last time", "Analysts warn that early votes may only have been brought forward.", "Elections", false},
		{"How negotiators write sentences that everyone can sign", "A former drafter on commas, annexes and the word 'shall'.", "Analysis", false},
		{"Upper house delays the chief auditor's reform by a week", "", "Legislation", false},
		{"Harvest Party presents its budget with two scenarios", "The difference between them is the interest rate.", "", false},
		{"Discussion: should quorum rules for referendums go?", "Boycotts turn abstention into a vote. Interested in examples that worked.", "Discussion", true},
		{"Regional council candidates meet in an orderly debate", "Water and buses led the questions.", "Elections", false},
		{"Free List drops out of two districts", "", "Elections", false},
		{"Registrar finds motion of no confidence two signatures short", "Its sponsors have until the end of the month.", "", false},
	},
	"economics": {
		{"Union Central Bank enters its quiet period with markets split", "Two members named the labour market, one named services prices.", "Central banks", false},
		{"Meridian price data due this week: what the components say", "Rents and energy pull in different directions.", "Inflation", false},
		{"Freight rates on the northern route slip again", "Carriers announce blank sailings for the month to come.", "Trade", false},
		{"Kestria's vacancy rate falls to a five-year low", "Hiring intentions held up in care and construction.", "Labour", false},
		{"Bond auction meets solid demand as yields ease", "The ten-year line was covered 2.3 times.", "Markets", false},
		{"Broad-600 ends the week flat after an uneven reporting season", "", "Markets", false},
		{"Northern Reserve survey: households expect slower price rises", "The median one-year expectation falls for the second time.", "Inflation", false},
		{"Norvania's currency steadies after a verbal warning", "Traders see little sign of purchases so far.", "Currencies", false},
		{"Wheat estimate cut on dry weather in two provinces", "Stocks remain above the five-year mean.", "Commodities", false},
		{"Why first prints get revised, in one chart and 400 words", "Late surveys, seasonal factors, and the odd typing error.", "Explainer", false},
		{"Ask: a good source for daily stablecoin supply?", "I need history with timestamps, not screenshots.", "Question", true},
		{"House prices in Lindmark fall for a fourth month", "", "Housing", false},
		{"Meridian wage deals come in below last year's", "", "Labour", false},
	},
}

// posters are the authors of made-up posts.
var posters = []string{
	"orchard_lamp", "tidewatcher9", "paper_kite", "quiet_ledger", "brass_finch", "northbound_tram", "saltmarsh",
	"lowcloud", "ninth_window", "copper_thistle", "inkwell_harbour", "slowtrain", "gravel_path", "halfpast_noon",
}
