package demo

// economyKinds are the questions of economics, crypto and technology.
var economyKinds = []kind{
	{
		about: []string{"policy rate", "hold its rate", "minutes mention a pause", "decision at the last meeting", "Next move of the Northern Reserve"},
		above: []string{
			"{n} of the {m} rate setters who spoke since the last meeting leaned this way",
			"the last statement left the door open wider than its summary suggests",
			"the staff projections make this the natural next step",
		},
		below: []string{
			"officials had {n} chances to prepare the public for this and took none",
			"the members who decide have asked for another round of data",
			"this board surprised its watchers in {n} of the last {m} meetings",
		},
		level:   []string{"swaps and speeches say the same", "the board has said little that the price does not reflect"},
		reports: [][2]string{{"Statements of rate setters, indexed", "https://example.org/archive/rate-statements"}, {"Calendar of meetings and minutes", "https://example.org/data/meetings"}},
	},
	{
		about: []string{
			"consumer prices", "inflation print", "inflation expectations", "unemployment rate", "jobless claims", "retail sales",
			"purchasing managers", "trade balance", "house price index", "wage growth", "industrial output", "negative growth", "Meridian growth be",
		},
		above: []string{
			"the indicators that lead this release have pointed this way for {n} months",
			"base effects do most of the work here, and they are known in advance",
			"regional figures are out already, and {n} of {m} agree",
		},
		below: []string{
			"first releases of this series surprised the other way in {n} of the last {m} months",
			"the seasonal factor flatters the recent figures and is about to reverse",
			"{n} of {m} components are flat, whatever the headline did last time",
		},
		level:   []string{"leading indicators are split, and the median forecast sits at the line", "both sides of the argument are public and look priced in"},
		reports: [][2]string{{"Release calendar and first prints", "https://example.org/data/release-calendar"}, {"Nowcast of prices and output", "https://example.org/data/nowcast"}},
	},
	{
		about: []string{"share index", "crude oil", "bond yield", "crypto index end", "crypto index close", "crypto index be above"},
		above: []string{
			"flows went this way on {n} of the last {m} days without a matching move in price",
			"positioning looks one-sided, so a small surprise would be enough",
			"windows that began like this one ended this way more often than the price implies",
		},
		below: []string{
			"the move so far rests on thin volume, and {n} of the last {m} such moves were given back",
			"options price less of a move than the question needs",
			"nothing on the calendar before the close would carry it there",
		},
		level:   []string{"a coin with a slight lean, and the lean is in the price", "options and the market here imply the same chance"},
		reports: [][2]string{{"Daily closes since the index began", "https://example.org/data/closes"}, {"Implied and realised volatility", "https://example.org/data/volatility"}},
	},
	{
		about: []string{"freight rates"},
		above: []string{
			"quotes for next week's sailings are already lower on {n} of {m} port pairs",
			"ships that had been diverted are back, which adds capacity",
		},
		below: []string{
			"carriers have cancelled {n} sailings, which takes capacity out",
			"the composite rose after {n} of the last {m} runs of falls as long as this one",
		},
		level:   []string{"spot quotes are mixed, and so is the price"},
		reports: [][2]string{{"Weekly composite of container rates", "https://example.org/data/container-rates"}, {"Cancelled sailings by route", "https://example.org/data/sailings"}},
	},
	{
		about: []string{"wheat"},
		above: []string{
			"satellite greenness is below last year's in {n} of {m} growing districts",
			"the dry weeks fell into grain filling, when they cost most",
		},
		below: []string{
			"combines report better yields than feared in {n} of {m} districts",
			"the area sown was larger, which makes up for the dry weeks",
		},
		level:   []string{"surveys of growers come out where the price is"},
		reports: [][2]string{{"Crop greenness by district", "https://example.org/data/crop-greenness"}},
	},
	{
		about: []string{"intervene in the currency market"},
		above: []string{
			"the bank stepped in {n} of the last {m} times the currency moved this far",
			"the wording about disorderly markets is back in its statements",
		},
		below: []string{
			"reserves are low, and the bank has let {n} such moves pass",
			"a purchase would not be published before the close",
		},
		level:   []string{"the bank's threshold is known about as well as the price suggests"},
		reports: [][2]string{{"Central bank balance sheets, weekly", "https://example.org/data/balance-sheets"}},
	},
	{
		about: []string{"bond auction", "spectrum auction"},
		above: []string{
			"{n} of the last {m} sales of this kind drew more bids than planned",
			"every large bidder has registered, and two of them need it",
		},
		below: []string{
			"bidders were sparing in {n} of the last {m} sales",
			"the terms were tightened after the plan was written",
		},
		level:   []string{"dealers expect what the price says"},
		reports: [][2]string{{"Results of past auctions", "https://example.org/data/auctions"}},
	},
	{
		about: []string{"fee upgrade"},
		above: []string{
			"the upgrade is active on the test network, and the checklist has {n} open items left",
			"{n} of {m} client teams have tagged their release",
		},
		below: []string{
			"upgrades of this network slipped in {n} of the last {m} cases",
			"one client team still asks for another test run",
		},
		level:   []string{"the developers' own date is close to what is priced"},
		reports: [][2]string{{"Upgrade checklist of the client teams", "https://example.org/archive/upgrade-checklist"}},
	},
	{
		about: []string{"stablecoin supply", "network fees double"},
		above: []string{
			"the daily figure rose on {n} of the last {m} days",
			"issuers and bridges report activity well above last month's",
		},
		below: []string{
			"growth has slowed for {n} weeks, and the level is further off than it looks",
			"the last rush came from one application, which has moved away",
		},
		level:   []string{"the daily count and the price tell the same story"},
		reports: [][2]string{{"Daily supply, fees and flows", "https://example.org/data/chain-flows"}},
	},
	{
		about: []string{"pause withdrawals", "repay its users"},
		above: []string{
			"wallets that are known to belong to it moved on {n} of the last {m} days",
			"its support pages changed their wording this week",
		},
		below: []string{
			"operators of this size did not in {n} of {m} comparable cases",
			"the published claims and reserves do not add up to it",
		},
		level:   []string{"status pages and known wallets show nothing new"},
		reports: [][2]string{{"Incidents and repayments of past operators", "https://example.org/archive/operators"}},
	},
	{
		about: []string{"spot fund"},
		above: []string{
			"the regulator has asked for {n} amendments in a week, as it did before earlier approvals",
			"two applicants have named their market makers",
		},
		below: []string{
			"the regulator used its full time in {n} of the last {m} files",
			"its chair repeated the old objection in public",
		},
		level:   []string{"lawyers who follow the file put it where the price is"},
		reports: [][2]string{{"Fund filings and their amendments", "https://example.org/archive/fund-filings"}},
	},
	{
		about: []string{"flagship model", "inference chip", "third-party trackers", "frontier"},
		above: []string{
			"documentation for it went live early, as before {n} of the last {m} releases",
			"test builds have been stable for {n} weeks",
			"a rival's date leaves little room to wait",
		},
		below: []string{
			"stated dates were missed in {n} of the last {m} cases",
			"what counts here is a full release, and a limited one is likelier first",
			"nothing in the release notes or the hiring page points to it yet",
		},
		level:   []string{"leaks point both ways, and the roadmap gives no day", "the base rate of such releases in a window of this length is about the price"},
		reports: [][2]string{{"Release dates: announced and actual", "https://example.org/data/release-slippage"}},
	},
	{
		about: []string{"Atlas benchmark", "Atlas coding board"},
		above: []string{
			"the last {n} submissions closed more than half of the distance",
			"a run under an unnamed account fits this and would settle it",
		},
		below: []string{
			"the benchmark's new rules make a quick jump harder",
			"{n} of the last {m} runs that were announced for this board came in below their claim",
		},
		level:   []string{"the price already reflects every pending submission"},
		reports: [][2]string{{"Benchmark board with submission dates", "https://example.org/data/atlas-board"}},
	},
	{
		about: []string{"price of its smallest model"},
		above: []string{
			"{n} of {m} rivals cut theirs this quarter, and this one follows within weeks",
			"a cheaper tier has appeared in its client library",
		},
		below: []string{
			"it raised or kept its list price in {n} of the last {m} quarters",
			"demand exceeds capacity, which is no time for a cut",
		},
		level:   []string{"list prices move about as often as the market says"},
		reports: [][2]string{{"List prices per token, by day", "https://example.org/data/list-prices"}},
	},
	{
		about: []string{"Lumen phone"},
		above: []string{
			"a certification photo shows a back cover with a notch",
			"the new repair rule applies to it, and {n} of {m} rivals chose this way out",
		},
		below: []string{
			"the water rating in the leaked sheet rules it out",
			"{n} of {m} earlier leaks about this maker's batteries were wrong",
		},
		level:   []string{"cases and spare parts on sale say nothing new"},
		reports: [][2]string{{"Certification filings of phones", "https://example.org/archive/certifications"}},
	},
	{
		about: []string{"cloud region"},
		above: []string{
			"an outage of this length came in {n} of the last {m} windows like this one",
			"two of the five providers move customers between regions before the close",
		},
		below: []string{
			"all five went without one in {n} of the last {m} windows like this one",
			"providers freeze their changes over most of the window",
		},
		level:   []string{"the base rate from incident reports is the price"},
		reports: [][2]string{{"Incident reports by provider and length", "https://example.org/data/incidents"}},
	},
	{
		about: []string{"undersea cable"},
		above: []string{
			"the repair ship is on its way with a spare section, and {n} of {m} repairs here took less",
			"the forecast gives calm seas for the splice",
		},
		below: []string{
			"{n} of the last {m} repairs in these waters waited for weather",
			"the break lies deep, and the ship has another job first",
		},
		level:   []string{"repairs in these waters take about as long as is priced"},
		reports: [][2]string{{"Cable repairs: days at sea", "https://example.org/data/cable-repairs"}},
	},
	{
		about: []string{"volatility", "5% in a day"},
		above: []string{
			"the daily ranges of {n} of the last {m} days point this way",
			"the calendar before the close is as the question needs it",
		},
		below: []string{
			"options price less of a change than the question needs",
			"quiet and lively spells last, and this one ran the other way for {n} weeks",
		},
		level:   []string{"options and the market here imply the same chance"},
		reports: [][2]string{{"Implied and realised volatility", "https://example.org/data/volatility"}},
	},
}
