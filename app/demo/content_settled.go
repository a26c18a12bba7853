package demo

var settledBinaries = []binary{
	// Economics: a calendar of releases.
	{"economics", "Will the Northern Reserve hold its rate at its regular meeting?", "Resolves to Yes if the policy rate was left unchanged in the published decision.", -43, 0.7, 5_240_000},
	{"economics", "Will Meridian retail sales grow for a third month?", "Seasonally adjusted monthly change above 0.0% in the first release.", -41, 0.55, 322_000},
	{"economics", "Will Kestrian inflation print at or below 2.4%?", "Annual rate of the first release, to one decimal.", -38, 0.46, 1_090_000},
	{"economics", "Will the Union's purchasing managers' index be above 50?", "The composite flash index for the month, to one decimal; exactly 50.0 resolves to No.", -36, 0.52, 408_000},
	{"economics", "Will Norvania's trade balance show a surplus this month?", "First release of goods and services, seasonally adjusted.", -33, 0.4, 97_000},
	{"economics", "Will weekly jobless claims in Meridia stay under 230,000?", "The first print for the week that ends on the last day of the window.", -31, 0.61, 214_000},
	{"economics", "Will the Broad-600 share index fall by more than 2% in a week?", "Official closes on consecutive Fridays.", -28, 0.19, 866_000},
	{"economics", "Will crude oil settle the week higher?", "Front-month settlement prices on consecutive Fridays, as shown by the resolution source.", -26, 0.5, 1_370_000},
	{"economics", "Will Lindmark's house price index fall again?", "Monthly change below 0.0% in the first release.", -23, 0.58, 63_000},
	{"economics", "Will the Union Central Bank's minutes mention a pause?", "The word must be used for the policy rate, in the English version.", -20, 0.35, 145_000},
	{"economics", "Will Meridian wage growth exceed 4%?", "Annual growth of regular pay in the first release, to one decimal.", -18, 0.43, 281_000},
	{"economics", "Will the harvest report cut its wheat estimate?", "Compares the world production figure with that of the month before.", -14, 0.48, 52_000},
	{"economics", "Will Kestria's bond auction be covered more than twice?", "Total bids divided by the amount sold, for the ten-year line.", -11, 0.66, 38_000},
	{"economics", "Will Meridian industrial output rise this month?", "Seasonally adjusted monthly change above 0.0% in the first release.", -8, 0.54, 176_000},
	{"economics", "Will the Northern Reserve's survey show lower inflation expectations?", "Median one-year expectation against the survey before.", -5, 0.57, 119_000},
	{"economics", "Will weekly container freight rates fall for a third week?", "The weekly composite published on Thursday, against that of the week before.", -2, 0.45, 71_000},

	// Sports: a season of two leagues.
	{"sports", "Will the Redmont Foxes win away at Ironbridge?", "The result after regular time; a draw resolves to No.", -44, 0.31, 490_000},
	{"sports", "Will the Harbor City Gulls keep a clean sheet against the Pilots?", "No goal against in regular time.", -39, 0.37, 152_000},
	{"sports", "Will the Lakeside Pilots reach the cup quarter-final?", "Qualification after the second leg, however decided.", -35, 0.62, 731_000},
	{"sports", "Will the Northern marathon record be beaten?", "A ratified winning time below the record, in either race.", -32, 0.22, 108_000},
	{"sports", "Will the Rovers' match be decided by one goal?", "The winning margin after regular time must be exactly one.", -27, 0.42, 87_000},
	{"sports", "Will the Foxes score in both halves?", "At least one goal in each half of regular time.", -24, 0.47, 66_000},
	{"sports", "Will the Gulls extend their unbeaten run to ten?", "A win or a draw in the tenth match in a row, regular time.", -21, 0.56, 342_000},
	{"sports", "Will the coastal regatta finish on schedule?", "All seven races sailed by the final day.", -16, 0.64, 24_000},
	{"sports", "Will a qualifier reach the Northern Masters semi-final?", "Any player who came through the qualifying draw.", -13, 0.33, 139_000},
	{"sports", "Will the Pilots beat the Foxes at home?", "The result after regular time; a draw resolves to No.", -9, 0.53, 604_000},
	{"sports", "Will the Ironbridge derby see a red card?", "Any player sent off, including for two cautions.", -6, 0.29, 93_000},
	{"sports", "Will the Gulls lead at half time?", "The official score at half time; level resolves to No.", -3, 0.44, 128_000},

	// Politics.
	{"politics", "Will the Vallmark budget pass on first reading?", "A majority of votes cast in the lower chamber.", -42, 0.67, 187_000},
	{"politics", "Will the Tarsovian referendum reach its quorum?", "Certified turnout at or above the legal quorum.", -34, 0.49, 1_820_000},
	{"politics", "Will Kestria's prime minister call an early election?", "A formal announcement of a date before the regular one.", -29, 0.27, 2_460_000},
	{"politics", "Will the Sorrel Islands join the customs accord?", "An instrument of accession deposited within the window.", -22, 0.38, 76_000},
	{"politics", "Will the Meridian upper house confirm the chief auditor?", "A vote of confirmation by the full house.", -12, 0.72, 111_000},
	{"politics", "Will the Lindmark rail strike end without a law?", "A signed settlement before any back-to-work act enters into force.", -7, 0.51, 203_000},

	// Crypto.
	{"crypto", "Will the large-cap crypto index end the month higher?", "Index level at 00:00 UTC on the first day of consecutive months.", -40, 0.54, 4_110_000},
	{"crypto", "Will Orbit's network fees double within a week?", "Seven-day mean fee at the end against the start of the window.", -30, 0.21, 133_000},
	{"crypto", "Will a spot fund for Orbit be approved?", "A published approval by the securities regulator of the Union.", -19, 0.34, 1_540_000},
	{"crypto", "Will the bridge operator Span repay its users in full?", "A statement by the operator that all claims are met, within the window.", -10, 0.46, 258_000},
	{"crypto", "Will the large-cap crypto index move more than 5% in a day?", "Any UTC day of the window, close against close.", -4, 0.6, 917_000},

	// Technology.
	{"technology", "Will Quillon ship its inference chip on time?", "First shipments to customers confirmed by the date given in its roadmap.", -37, 0.41, 388_000},
	{"technology", "Will the Atlas benchmark see a new leader?", "The first place at the close differs from that at the opening.", -25, 0.59, 729_000},
	{"technology", "Will the browser maker Fathom drop third-party trackers by default?", "The change must reach its stable channel.", -17, 0.36, 47_000},
	{"technology", "Will Helix Labs cut the price of its smallest model?", "A lower list price per input token on its public page.", -6.5, 0.63, 312_000},
	{"technology", "Will the undersea cable Aurora be repaired within two weeks?", "The operator's notice of restored service decides.", -1.5, 0.55, 59_000},

	// Science.
	{"science", "Will the Aster-8 launch succeed?", "Payload separation in the planned orbit.", -38.5, 0.81, 1_130_000},
	{"science", "Will the Selene-4 probe enter lunar orbit?", "Confirmation of capture by the operator.", -21.5, 0.74, 652_000},
	{"science", "Will the collider report an excess above four sigma?", "Local significance in the collaboration's talk at the annual conference.", -15, 0.16, 84_000},
	{"science", "Will the station crew complete both spacewalks?", "Both must begin within the window and end as planned.", -5.5, 0.69, 95_000},

	// Climate.
	{"climate", "Will last month be the warmest of its name on record?", "Global mean surface temperature in the first monthly bulletin.", -36.5, 0.48, 411_000},
	{"climate", "Will a storm of the highest class form this month?", "As classed in the warning centre's advisories.", -24.5, 0.26, 294_000},
	{"climate", "Will the southern Vallmark drought order be lifted?", "A published decision that ends all restrictions.", -10.5, 0.43, 31_000},
	{"climate", "Will the first snowfall in the capital come early?", "Measurable snow at the reference station before its median date.", -3.5, 0.39, 22_000},

	// Culture.
	{"culture", "Will \"A Winter Ledger\" pass 100 million worldwide?", "Total ticket sales as listed by the resolution source.", -27.5, 0.57, 540_000},
	{"culture", "Will \"Paper Harbour\" be named film of the festival?", "The main prize of the jury.", -18.5, 0.3, 166_000},
	{"culture", "Will the Low Tide Radio tour sell out?", "All dates marked as sold out by the promoter.", -4.5, 0.65, 43_000},

	// Health.
	{"health", "Will the Union's health agency end its seasonal alert?", "A published decision that lowers the level.", -26.5, 0.52, 68_000},
	{"health", "Will the RN-5 trial be stopped early for benefit?", "A statement by the trial's data monitoring board or its sponsor.", -12.5, 0.28, 149_000},
	{"health", "Will flu activity in Kestria rise for a third week?", "The weekly index against that of the week before.", -2.5, 0.62, 37_000},
}

// settledVoid are markets that ended without a result and settled at even odds.
var settledVoid = []binary{
	{"sports", "Will the lake crossing set a course record?", "The winning time against the record; a cancelled race settles at even odds.", -19.5, 0.35, 29_000},
	{"politics", "Will the Norvanian television debate have more than five candidates?", "Candidates on stage at the opening; no debate settles at even odds.", -14.5, 0.58, 82_000},
}

// settledFraction is a market that settles at value, between No (0) and Yes (1).
var settledFraction = []struct {
	binary
	value float64
}{
	{binary{"economics", "Where in the range of 2% to 4% will Meridian growth be?", "Settles linearly: 2.0% or less at No, 4.0% or more at Yes, between them in proportion.", -16.5, 0.5, 137_000}, 0.35},
}

var settledNamed = []named{
	{"sports", "Rovers vs. Gulls: result", "The result after regular time, as recorded by the league.", -40.5, []string{"Rovers", "Draw", "Gulls"}, []float64{0.41, 0.28, 0.31}, 812_000},
	{"sports", "Foxes vs. Pilots: winner", "The winner, including extra time.", -30.5, []string{"Foxes", "Pilots"}, []float64{0.52, 0.48}, 655_000},
	{"sports", "Opening derby: total points", "The final score including overtime, against a line of 44.5.", -22.5, []string{"Over 44.5", "Under 44.5"}, []float64{0.49, 0.51}, 241_000},
	{"sports", "Northern Masters quarter-final: Team Alder vs. Team Crane", "The team named first in the official result.", -11.5, []string{"Team Alder", "Team Crane"}, []float64{0.6, 0.4}, 118_000},
	{"sports", "Gulls vs. Pilots: total goals", "Goals in regular time, against a line of 2.5.", -1.2, []string{"Over 2.5", "Under 2.5"}, []float64{0.54, 0.46}, 196_000},
	{"economics", "Union Central Bank: decision at the last meeting", "The change of the main policy rate in the published decision.", -29.5, []string{"Cut", "Hold", "Raise"}, []float64{0.38, 0.55, 0.07}, 6_730_000},
	{"technology", "Which model family will lead the Atlas coding board?", "The first place on the board at the close.", -9.5, []string{"Helios", "Marble", "Another"}, []float64{0.45, 0.33, 0.22}, 274_000},
}

var settledGroups = []group{
	{"politics", "Largest party in the Vallmark regional council", "Resolves to Yes if {choice} has the most seats in the provisional result.", -31.5, 3_400_000, []choice{
		{"Harvest Party", "Will the Harvest Party be the largest in Vallmark?", 0.42},
		{"Civic Alliance", "Will the Civic Alliance be the largest in Vallmark?", 0.36},
		{"New Compass", "Will New Compass be the largest in Vallmark?", 0.15},
	}},
	{"culture", "Opening weekend's most-seen film", "Resolves to Yes if {choice} sells the most tickets from Friday to Sunday.", -20.5, 460_000, []choice{
		{"Paper Harbour", "Will \"Paper Harbour\" lead the weekend?", 0.34},
		{"A Winter Ledger", "Will \"A Winter Ledger\" lead the weekend?", 0.4},
		{"Night Ferry", "Will \"Night Ferry\" lead the weekend?", 0.2},
	}},
	{"technology", "Next company to open-source a frontier model", "Resolves to Yes if {choice} is the first to publish weights under an open licence.", -7.5, 980_000, []choice{
		{"Helix Labs", "Will Helix Labs be next to publish frontier weights?", 0.3},
		{"Quillon", "Will Quillon be next to publish frontier weights?", 0.27},
		{"Fathom", "Will Fathom be next to publish frontier weights?", 0.2},
	}},
}
