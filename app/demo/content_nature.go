package demo

// natureKinds are the kinds of questions on science and climate.
var natureKinds = []kind{
	{
		about: []string{"Aster-8", "Aster-9"},
		above: []string{
			"the last {n} tests ended within limits, and the open items are routine",
			"this stage has worked in {n} of {m} flights",
			"the upper winds look safe on {n} of {m} model runs",
		},
		below: []string{
			"rockets of this age fail more often than their makers say",
			"{n} of {m} campaigns of this kind needed a second window",
			"an unresolved sensor warning leaves little slack in the countdown",
		},
		level:   []string{"the operator's own estimate is close to the price and has been honest before"},
		reports: [][2]string{{"Launch log with causes of delay", "https://example.org/data/launch-log"}},
	},
	{
		about: []string{"Selene-4"},
		above: []string{
			"tracking data put the probe within its margins at {n} of {m} checks",
			"the propulsion test of last week ended on target",
		},
		below: []string{
			"{n} of {m} attempts at this step by newcomers failed",
			"the link was lost twice on the way, and both times for longer than planned",
		},
		level:   []string{"the operator's estimate and the history of such probes agree"},
		reports: [][2]string{{"Lunar missions and how they ended", "https://example.org/data/lunar-missions"}},
	},
	{
		about: []string{"Deep Array", "collider"},
		above: []string{
			"the collaboration booked {n} more talks than usual, late in the programme",
			"a second analysis of the same data found it as well",
		},
		below: []string{
			"{n} of {m} early signals of this size went away with more data",
			"the collaboration asks for patience in words that it uses when data are thin",
		},
		level:   []string{"the preprints since the opening add up to the price"},
		reports: [][2]string{{"Circulars of the collaboration", "https://example.org/archive/circulars"}},
	},
	{
		about: []string{"fusion test"},
		above: []string{
			"the last {n} discharges grew by half each time",
			"the heating upgrade is finished ahead of plan",
		},
		below: []string{
			"the wall limits the pulse, and its cooling has not been changed",
			"{n} of the last {m} campaigns ended early for repairs",
		},
		level:   []string{"the team's own plan reaches the mark about as often as priced"},
		reports: [][2]string{{"Discharges by length and campaign", "https://example.org/data/discharges"}},
	},
	{
		about: []string{"spacewalks"},
		above: []string{
			"suits and airlock passed {n} of {m} checks at the first try",
			"the crew has rehearsed both, and there are spare days",
		},
		below: []string{
			"one of the two was cut short in {n} of the last {m} pairs",
			"a visiting ship takes up most of the window",
		},
		level:   []string{"the station's plan has the slack that the price implies"},
		reports: [][2]string{{"Spacewalks: planned and done", "https://example.org/data/spacewalks"}},
	},
	{
		about: []string{"of its name on record"},
		above: []string{
			"the daily reanalysis covers {n} of {m} weeks already and runs warm",
			"sea surface temperatures are above those of every earlier year that ended this way",
		},
		below: []string{
			"a cooler second half is in the outlook of two centres",
			"records of this kind were missed by small margins in {n} of {m} cases",
		},
		level:   []string{"the reanalysis to date and the price give the same place"},
		reports: [][2]string{{"Daily reanalysis, global mean", "https://example.org/data/reanalysis"}},
	},
	{
		about: []string{"storm"},
		above: []string{
			"{n} of {m} ensemble members close a low in the basin before the window ends",
			"shear is low and the water is warm along the usual track",
		},
		below: []string{
			"dry air from the continent breaks up what forms",
			"{n} of {m} ensemble members keep the basin quiet",
		},
		level:   []string{"the outlook is near its climatology, and so is the price"},
		reports: [][2]string{{"Basin outlook and ensemble", "https://example.org/data/basin-outlook"}},
	},
	{
		about: []string{"sea ice"},
		above: []string{
			"the five-day mean has been the lowest on {n} of the last {m} days",
			"southerly winds keep the edge open on the Pacific side",
		},
		below: []string{
			"freezing has caught up in {n} of the last {m} years by this date",
			"the lead over the record year is smaller than one week's error",
		},
		level:   []string{"the extent runs along the record, and the price says so"},
		reports: [][2]string{{"Five-day mean extent since the record began", "https://example.org/data/ice-extent"}},
	},
	{
		about: []string{"reservoirs", "drought order"},
		above: []string{
			"inflow was above its mean in {n} of the last {m} weeks",
			"soil moisture, which leads the bulletin, has turned",
		},
		below: []string{
			"the outlook has {n} dry weeks before the close",
			"the operators hold water back and the authorities wait longer than the figures ask for",
		},
		level:   []string{"the bulletin moves about a point a week, which is what is priced"},
		reports: [][2]string{{"Weekly bulletin of inflow and storage", "https://example.org/data/storage"}},
	},
	{
		about: []string{"snowfall"},
		above: []string{
			"{n} of {m} model runs bring cold air to the capital within ten days",
			"the ground is colder than in most years with an early date",
		},
		below: []string{
			"the reference station lies low, and the first fall there seldom lasts to be measured",
			"{n} of {m} model runs keep the frost north of the capital",
		},
		level:   []string{"nothing this year speaks against the median date"},
		reports: [][2]string{{"First snow at the reference station", "https://example.org/data/first-snow"}},
	},
}
