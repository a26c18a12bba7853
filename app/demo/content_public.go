package demo

// publicKinds are the kinds of questions on politics and health.
var publicKinds = []kind{
	{
		about: []string{"coalition agreement", "investment bill", "investment act", "budget pass", "confirm the chief auditor"},
		above: []string{
			"the whips have published a timetable, which they seldom do without the votes",
			"{n} of {m} comparable texts passed once they were public",
			"the party with the most to lose has stopped objecting in public",
		},
		below: []string{
			"the agenda leaves room for {n} sittings at most",
			"the smallest partner votes last and has the strongest hand",
			"votes of this kind slipped past their date in {n} of {m} cases",
		},
		level:   []string{"the count of public statements comes out where the price is", "the decisive votes belong to people who have said little"},
		reports: [][2]string{{"Order papers and sitting days", "https://example.org/archive/order-papers"}, {"Roll calls since the last election", "https://example.org/data/roll-calls"}},
	},
	{
		about: []string{"customs accord", "fisheries treaty", "rail strike"},
		above: []string{
			"the delegations stopped leaking, as they did before {n} of the last {m} signatures",
			"what is left is one number, and both sides have moved towards the middle",
		},
		below: []string{
			"talks of this kind slipped past their date in {n} of {m} cases",
			"who pays is still open, and one side gains by waiting",
		},
		level:   []string{"mediators and members of both sides give the odds that are priced"},
		reports: [][2]string{{"Accords and settlements: announced and signed", "https://example.org/archive/accords"}},
	},
	{
		about: []string{"turnout", "quorum"},
		above: []string{
			"early participation runs ahead of the last vote in {n} of {m} districts",
			"postal ballots were requested earlier and in larger numbers",
		},
		below: []string{
			"polls that counted only certain voters overstated turnout in {n} of the last {m} votes",
			"rain and a holiday fall on the day",
		},
		level:   []string{"early counts and the long-run mean agree with the price"},
		reports: [][2]string{{"Turnout by district since the last reform", "https://example.org/data/turnout"}},
	},
	{
		about: []string{"presidency", "be the largest in Vallmark"},
		above: []string{
			"{n} of the last {m} polls have {subject} ahead of where the average stood a month ago",
			"second choices favour {subject} more than the price allows",
			"regional results point the same way as the national average, which is rare",
		},
		below: []string{
			"the polling average overstated {subject} in {n} of the last {m} votes",
			"{subject} has little left to gain from those who are undecided",
			"the districts that count last have not gone this way for years",
		},
		level:   []string{"polls of the last week put {subject} where the price does"},
		reports: [][2]string{{"Polling average with house effects", "https://example.org/data/polling-average"}},
	},
	{
		about: []string{"chair of the Union parliament"},
		above: []string{
			"{n} of {m} groups have said that they would vote for {subject} in a second ballot",
			"{subject} has the smallest number of members who rule the name out",
		},
		below: []string{
			"{subject} has {n} declared votes of the {m} groups that were asked, and the rest is hope",
			"early favourites for this chair were passed over more often than chosen",
		},
		level:   []string{"declared votes and the price agree on {subject}"},
		reports: [][2]string{{"Declared votes by group", "https://example.org/data/declared-votes"}},
	},
	{
		about: []string{"no-confidence motion", "early election"},
		above: []string{
			"the signatures are there, and {n} sittings remain to use them",
			"party funds were moved to campaigns in {n} of {m} districts",
		},
		below: []string{
			"threats of this kind came to nothing in {n} of the last {m} cases",
			"those who would gain from it wait for better polls",
		},
		level:   []string{"statements of both camps cancel out"},
		reports: [][2]string{{"Motions and dissolutions since the constitution", "https://example.org/archive/motions"}},
	},
	{
		about: []string{"interior minister", "campaign funds"},
		above: []string{
			"the draft and the calendar leave little room for another result",
			"{n} of {m} comparable affairs ended this way",
		},
		below: []string{
			"the head of government has kept every door open in {n} statements",
			"names were taken out between draft and print in {n} of {m} reports",
		},
		level:   []string{"the press and the price have read the same draft"},
		reports: [][2]string{{"Terms of ministers, with causes of their end", "https://example.org/data/ministers"}},
	},
	{
		about: []string{"television debate"},
		above: []string{"{n} candidates have accepted, and invitations to two more are out"},
		below: []string{"broadcasters cut the field in {n} of the last {m} debates"},
		level: []string{"the list of those invited fits the price"},
		reports: [][2]string{
			{"Rules of past debates", "https://example.org/archive/debates"},
		},
	},
	{
		about: []string{"flu "},
		above: []string{
			"regional laboratories report a rise for {n} of the last {m} weeks, ahead of the national index",
			"school absences lead the index by a week and are up",
		},
		below: []string{
			"the school holidays interrupt the rise in most years",
			"reporting lags make the current figure look higher than it will stay",
		},
		level:   []string{"the surveillance data fit the price"},
		reports: [][2]string{{"Weekly surveillance bulletin", "https://example.org/data/surveillance"}},
	},
	{
		about: []string{"seasonal alert"},
		above: []string{
			"the index has been below the agency's own limit for {n} weeks",
			"hospitals have closed their extra wards in {n} of {m} districts",
		},
		below: []string{
			"the agency waited longer than its rule asks for in {n} of the last {m} seasons",
			"a second wave shows in the youngest age group",
		},
		level:   []string{"the agency keeps to its published calendar"},
		reports: [][2]string{{"Weekly surveillance bulletin", "https://example.org/data/surveillance"}},
	},
	{
		about: []string{"vaccine candidate", "trial be stopped early"},
		above: []string{
			"the sponsor has moved its presentation forward",
			"trials of this design met their endpoint in {n} of {m} cases",
		},
		below: []string{
			"the effect in the earlier phase came from one subgroup",
			"the number of events is too small for a result before the close",
		},
		level:   []string{"nothing new since the last look of the monitoring board"},
		reports: [][2]string{{"Register of trials and endpoints", "https://example.org/archive/trial-register"}},
	},
	{
		about: []string{"insulin"},
		above: []string{
			"the reviewers raised no question about the main endpoint",
			"the committee approved {n} of the last {m} files with a clean review",
		},
		below: []string{
			"{n} of the last {m} decisions of this body took a second round of questions",
			"an inspection of the plant is still open",
		},
		level:   []string{"the committee keeps to its calendar, and the calendar is priced"},
		reports: [][2]string{{"Calendar and outcomes of the medicines committee", "https://example.org/data/committee"}},
	},
}
