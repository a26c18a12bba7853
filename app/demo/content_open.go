package demo

// All questions of the sample are made up. Countries, companies, teams, missions and films don't exist, and no
// text says anything about real ones. "{by}" is replaced by the day of the market's close, and "{choice}" by
// the name of one choice of a group.

// binary is a Yes/No market that stands alone.
type binary struct {
	category string
	question string
	criteria string
	days     float64 // until the close, counted from the first start; negative: since the close
	price    float64 // probability of Yes: now for an open market, at the opening for a settled one
	volume   float64 // in US dollars
}

// named is a market with named outcomes.
type named struct {
	category string
	question string
	criteria string
	days     float64
	outcomes []string
	prices   []float64
	volume   float64
}

// group is an event of sibling Yes/No markets. At most one of them settles at Yes.
type group struct {
	category string
	title    string
	criteria string
	days     float64
	volume   float64
	choices  []choice
}

type choice struct {
	name     string
	question string
	price    float64
}

var openBinaries = []binary{
	{"economics", "Will the Union Central Bank cut its policy rate at the meeting ending {by}?", "Resolves to Yes if the decision published after the meeting sets the main policy rate lower than before it. An emergency cut before the meeting counts; a change of corridor alone does not.", 2.3, 0.63, 8_420_000},
	{"economics", "Will Meridian consumer prices rise by less than 0.3% in the next monthly release?", "Resolves to Yes if the first release of the seasonally adjusted monthly change is 0.2% or lower, as printed to one decimal.", 1.6, 0.44, 1_930_000},
	{"economics", "Will Kestria's unemployment rate be above 5.0% in the next labour report?", "Resolves by the headline rate of the first release, to one decimal. A report delayed by more than ten days resolves by the next one published.", 2.8, 0.29, 612_000},
	{"economics", "Will the Broad-600 share index close {by} above its level of a month before?", "Compares the official closing level on the last trading day of the window with the close exactly one month earlier. Equal levels resolve to No.", 12, 0.57, 2_240_000},
	{"economics", "Will container freight rates on the northern route fall for a fourth straight week?", "Resolves to Yes if the weekly composite published on Thursday is below that of the week before.", 3.4, 0.36, 88_000},
	{"economics", "Will Norvania's central bank intervene in the currency market before {by}?", "Needs an official statement or a published balance sheet that names a purchase or sale of foreign currency for the purpose of the exchange rate.", 33, 0.18, 341_000},
	{"economics", "Will the 10-year Union bond yield end {by} below 3%?", "Resolves by the closing benchmark yield on the final trading day, as shown by the resolution source to two decimals.", 41, 0.41, 1_105_000},
	{"economics", "Will Meridia report a quarter of negative growth before {by}?", "Resolves to Yes if a first estimate of quarterly real output, published within the window, shows a change below 0.0%.", 74, 0.22, 467_000},
	{"politics", "Will the Kestrian coalition agreement be ratified by all three parties before {by}?", "Each party's own statutory procedure must end in approval. A conditional approval counts only if the condition is met within the window.", 9, 0.71, 1_480_000},
	{"politics", "Will the Lindmark parliament pass the grid investment bill before {by}?", "The final reading in the lower chamber decides; later review by a court or the upper chamber does not matter.", 18, 0.54, 233_000},
	{"politics", "Will turnout in the Vallmark regional vote exceed 60%?", "Resolves by the provisional official turnout across all districts, published by the electoral commission on the day after the vote.", 1.9, 0.38, 774_000},
	{"politics", "Will a no-confidence motion be tabled in the Tarsovian assembly before {by}?", "The motion must be formally registered. Announcements, drafts and votes on other matters do not count.", 27, 0.24, 156_000},
	{"politics", "Will the Sorrel Islands fisheries treaty be signed before {by}?", "Needs signatures of all four delegations on one text. An initialled draft is not a signature.", 52, 0.47, 94_000},
	{"politics", "Will Meridia's interior minister still be in office on {by}?", "Resolves to Yes if the office holder at the opening of the market holds the same office at noon UTC on the final day.", 61, 0.83, 402_000},
	{"crypto", "Will the large-cap crypto index close this week higher than it opened?", "Compares the index level at 00:00 UTC on the first and the last day of the week, as published by the resolution source.", 2.1, 0.52, 3_870_000},
	{"crypto", "Will the Orbit network complete its fee upgrade before {by}?", "Resolves to Yes once the upgrade is active on the main network at a finalised block. Test networks do not count.", 15, 0.77, 648_000},
	{"crypto", "Will total stablecoin supply set a new record before {by}?", "Resolves by the daily total of the resolution source; one day above the record that stood at the opening is enough.", 24, 0.66, 512_000},
	{"crypto", "Will a top-ten exchange pause withdrawals for more than six hours before {by}?", "The exchange must be among the ten largest by spot volume of the previous month, and say so itself or show it on its status page.", 45, 0.07, 289_000},
	{"crypto", "Will the 30-day volatility of the large-cap crypto index fall below 35% before {by}?", "Annualised, from daily closes, as charted by the resolution source. Touching the level on one day is enough.", 36, 0.33, 121_000},
	{"technology", "Will Helix Labs release its next flagship model to the public before {by}?", "General availability in at least one product or programming interface without a waiting list. A preview for invited users does not count.", 21, 0.58, 2_760_000},
	{"technology", "Will the open-weights model Marble score above 80 on the Atlas benchmark before {by}?", "Resolves by the public board of the benchmark, for any model of that family with downloadable weights.", 39, 0.42, 367_000},
	{"technology", "Will the next Lumen phone be announced with a removable battery?", "The announcement or the technical sheet must describe a battery the owner can change without tools.", 2.6, 0.12, 198_000},
	{"technology", "Will the national 6 GHz spectrum auction raise more than planned?", "Compares total winning bids with the revenue estimate in the regulator's published auction plan.", 56, 0.49, 73_000},
	{"technology", "Will a major cloud region suffer an outage longer than four hours before {by}?", "Counts the five largest providers; the length is taken from the provider's own incident report.", 30, 0.61, 415_000},
	{"science", "Will the Aster-9 rocket reach orbit on its next launch attempt before {by}?", "The upper stage must reach a stable orbit. A scrubbed countdown is not an attempt; no attempt in the window resolves to No.", 2.4, 0.68, 1_260_000},
	{"science", "Will the Selene-4 lander send data from the surface before {by}?", "Needs confirmation by the operator that telemetry or an image was received after touchdown.", 13, 0.55, 884_000},
	{"science", "Will the Deep Array confirm its fast-burst signal with a second detection before {by}?", "A second detection from the same position, reported in a preprint or circular by the collaboration.", 67, 0.26, 42_000},
	{"science", "Will the fusion test at Halden hold plasma for more than 1,000 seconds before {by}?", "The duration as stated by the operator for one continuous discharge.", 80, 0.19, 65_000},
	{"climate", "Will this month be among the three warmest of its name on record?", "Resolves by the global mean surface temperature in the first monthly bulletin of the resolution source.", 16, 0.86, 534_000},
	{"climate", "Will a named storm form in the northern basin before {by}?", "The basin's official warning centre must assign a name within the window.", 2.9, 0.34, 147_000},
	{"climate", "Will Arctic sea ice extent be a record low for the date on {by}?", "Compares the five-day mean extent with every earlier year in the satellite record.", 22, 0.31, 79_000},
	{"climate", "Will reservoirs in southern Vallmark be above 50% of capacity on {by}?", "Resolves by the weekly bulletin that covers the final day.", 48, 0.45, 28_000},
	{"culture", "Will \"The Glass Meridian\" open above 60 million in its first weekend?", "Domestic ticket sales from Friday to Sunday, first studio estimate, in US dollars.", 3.1, 0.48, 921_000},
	{"culture", "Will \"Low Tide Radio\" win album of the year at the Northern Music Awards?", "Resolves when the winner is announced at the ceremony. A shared award resolves to Yes.", 28, 0.37, 312_000},
	{"culture", "Will the streaming series \"Orchard Nine\" be renewed before {by}?", "An official announcement of a further season by the studio or the service.", 54, 0.72, 58_000},
	{"health", "Will the seasonal flu index reach its high level in Lindmark before {by}?", "The weekly bulletin must show the level named 'high' for the country as a whole.", 19, 0.53, 104_000},
	{"health", "Will the malaria vaccine candidate MX-3 report positive phase-three results before {by}?", "The primary endpoint must be met, according to a statement by the trial's sponsor.", 72, 0.39, 183_000},
	{"health", "Will the regulator approve the once-weekly insulin RN-7 before {by}?", "A published approval or conditional approval by the medicines regulator of the Union.", 35, 0.64, 257_000},
}

var openNamed = []named{
	{"sports", "Harbor City Gulls vs. Redmont Foxes", "Resolves to the winner, including extra time. A match that is abandoned and not replayed within a week settles at even odds.", 0.6, []string{"Gulls", "Foxes"}, []float64{0.58, 0.42}, 1_640_000},
	{"sports", "Ironbridge Rovers vs. Lakeside Pilots: result", "The result after regular time, as recorded by the league.", 1.3, []string{"Rovers", "Draw", "Pilots"}, []float64{0.46, 0.27, 0.27}, 703_000},
	{"sports", "Coastal derby: total points", "Resolves by the final score including overtime, against a line of 47.5.", 2.2, []string{"Over 47.5", "Under 47.5"}, []float64{0.51, 0.49}, 288_000},
	{"sports", "Northern Masters final: Team Alder vs. Team Bend", "Resolves to the team named first in the official result. A withdrawal before the first game settles at even odds.", 6, []string{"Team Alder", "Team Bend"}, []float64{0.35, 0.65}, 219_000},
	{"technology", "Who will hold the record on the Atlas benchmark?", "Resolves by the licence of the model that is first on the board at the close.", 26, []string{"Open weights", "Closed weights"}, []float64{0.28, 0.72}, 134_000},
	{"economics", "Next move of the Northern Reserve", "The first change of the policy rate, or no change if the window ends without one.", 47, []string{"Cut", "Hold", "Raise"}, []float64{0.49, 0.43, 0.08}, 3_310_000},
}

var openGroups = []group{
	{"politics", "Winner of the Norvanian presidential election", "Resolves to Yes if {choice} wins the office, in the first or the second round, by the certified result.", 38, 12_600_000, []choice{
		{"Civic Alliance", "Will the Civic Alliance candidate win the Norvanian presidency?", 0.44},
		{"Harvest Party", "Will the Harvest Party candidate win the Norvanian presidency?", 0.31},
		{"New Compass", "Will the New Compass candidate win the Norvanian presidency?", 0.17},
		{"Free List", "Will the Free List candidate win the Norvanian presidency?", 0.05},
	}},
	{"sports", "Winner of the Continental Cup", "Resolves to Yes if {choice} wins the final, including extra time and penalties.", 58, 5_900_000, []choice{
		{"Ironbridge Rovers", "Will the Ironbridge Rovers win the Continental Cup?", 0.33},
		{"Lakeside Pilots", "Will the Lakeside Pilots win the Continental Cup?", 0.24},
		{"Harbor City Gulls", "Will the Harbor City Gulls win the Continental Cup?", 0.18},
		{"Redmont Foxes", "Will the Redmont Foxes win the Continental Cup?", 0.12},
	}},
	{"culture", "Best picture at the Silver Lantern Awards", "Resolves to Yes if {choice} is announced as best picture at the ceremony.", 86, 1_350_000, []choice{
		{"The Glass Meridian", "Will \"The Glass Meridian\" win best picture at the Silver Lanterns?", 0.29},
		{"A Winter Ledger", "Will \"A Winter Ledger\" win best picture at the Silver Lanterns?", 0.4},
		{"Paper Harbour", "Will \"Paper Harbour\" win best picture at the Silver Lanterns?", 0.14},
	}},
}
