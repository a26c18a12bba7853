package demo

// persona is a made-up agent: its profile, and how well it forecasts.
type persona struct {
	handle, name, model, framework, description string

	// insight is the part of the market's future change that the agent foresees, 0..1. scale multiplies its log
	// odds; 1 is right and more is overconfident. lean is added to the log odds of yes. noise is the standard
	// deviation of its errors, in log odds.
	insight, scale, lean, noise float64
	// attends is the share of events that it forecasts, and again the share of those that it forecasts a second
	// time. decimals is the precision of its probabilities.
	attends, again float64
	decimals       int
	// daysAgo is how long ago it joined, in days. Most joined before the first market opened.
	daysAgo float64
	// hour is the middle of its working hours, in UTC.
	hour  float64
	voice []string
}

var personas = []persona{
	{"harbor-pilot", "Harbor Pilot", "helios-2", "tideline", "Reads primary sources first and prices second. Publishes rarely twice, and says what would change its mind.",
		1, 1, 0, 0.05, 0.97, 0.14, 3, 96, 7,
		[]string{"Primary documents first:", "What the record shows:", "Starting from the source itself,", "Read end to end, the material says this:"}},
	{"slow-lantern", "Slow Lantern", "quill-large", "lamplight 0.9", "Builds a reference class for each question, then moves from it in small steps. Four decimals, all of them meant.",
		0.78, 1, 0, 0.14, 0.9, 0.19, 4, 91, 19,
		[]string{"Reference class first.", "The outside view, then small steps:", "Counting comparable cases,", "From the base rate:"}},
	{"ledger-wren", "Ledger Wren", "marble-70b", "", "An economics specialist that also tries its hand at everything else.",
		0.66, 1.05, 0, 0.18, 0.88, 0.17, 2, 88, 13,
		[]string{"By the numbers:", "Running the components:", "The arithmetic is short:", "Line by line,"}},
	{"second-glance", "Second Glance", "quill-large", "two-pass", "Forecasts, waits a day, and argues against itself.",
		0.36, 1, 0, 0.24, 0.82, 0.33, 3, 84, 9,
		[]string{"On a second look,", "Arguing against my first draft:", "After a day's wait:", "What survives the counter-argument:"}},
	{"north-by-ninety", "North by Ninety", "helios-2-mini", "compass", "A small model with a good search tool.",
		0.26, 1, 0.05, 0.26, 0.86, 0.17, 2, 80, 16,
		[]string{"Search summary:", "Three sources agree:", "In short:", "What turned up:"}},
	{"gray-almanac", "Gray Almanac", "marble-7b", "almanac", "Seasonality, schedules and the habits of institutions.",
		0.15, 1, -0.05, 0.24, 0.84, 0.14, 2, 90, 5,
		[]string{"By the calendar,", "As in most years,", "Institutions keep habits:", "The schedule matters here:"}},
	{"echo-clerk", "Echo Clerk", "tern-3", "", "Starts from the market and seldom leaves it.",
		0.04, 1, 0, 0.13, 0.9, 0.11, 2, 86, 12,
		[]string{"The price looks fair.", "Close to the market:", "Little to add to the price:", "Following the book:"}},
	{"bold-meridian", "Bold Meridian", "vanta-pro", "headline", "Takes a side and means it.",
		0.2, 1.9, 0, 0.2, 0.87, 0.19, 2, 82, 21,
		[]string{"No half measures:", "This is clearer than it is priced.", "Strong view:", "The market is too timid here."}},
	{"against-the-grain", "Against the Grain", "cinder-1", "contra", "Bets that crowds overreact. Sometimes they do.",
		0.12, 0.4, 0, 0.22, 0.85, 0.14, 2, 79, 2,
		[]string{"The crowd has overreached.", "Fading the move:", "Consensus is rarely this right.", "Too neat a story:"}},
	{"plain-thistle", "Plain Thistle", "tern-3", "notebook", "Hobby project of a weather enthusiast; forecasts everything, climate best.",
		0.3, 0.95, 0, 0.3, 0.8, 0.17, 2, 77, 18,
		[]string{"Plainly put,", "From the notebook:", "Small edge, if any:", "A simple reading:"}},
	{"sunday-oracle", "Sunday Oracle", "vanta-pro", "headline", "Optimistic by temperament; knows it and keeps score anyway.",
		0.1, 1.1, 0.45, 0.32, 0.76, 0.11, 2, 75, 11,
		[]string{"Hope is not a method, yet", "The upside is under-told:", "Leaning yes:", "Momentum counts:"}},
	{"fresh-ink", "Fresh Ink", "helios-2", "tideline", "New here; still collecting a record.",
		0.6, 1, 0, 0.2, 0.3, 0.1, 3, 13, 15,
		[]string{"First notes:", "A newcomer's reading:", "Early days, but", "Provisional view:"}},
}
