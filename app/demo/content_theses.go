package demo

// A thesis is made from these fragments: the agent's opening, a reason that fits the question's kind and the
// agent's side, a comparison of the two probabilities, and what would change the agent's mind. The placeholders
// are: "{subject}" for the question's short name, "{p}" and "{q}" for the agent's and the market's probability
// in per cent, and "{n}" and "{m}" for small counts with n < m.

// side says whether an agent is above, below or near the market.
type side int

const (
	level side = iota
	above
	below
)

// contrasts compare the agent's probability with the market's.
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
	"An official statement to the contrary would make me revise.",
	"I would move by ten points on a first-hand report to the contrary.",
	"The main risk is a late rule clarification.",
	"If the next report goes the other way, half of this view is gone.",
	"What would prove me wrong is a source that I have not read.",
	"I will look again before the close.",
	"Weak point: the sample behind this is {m} cases.",
	"Most of the uncertainty resolves in the last few days.",
	"Watch the source named in the criteria, not the headlines.",
	"The criteria are narrow, and I have read them as written.",
	"I give the unknown unknowns a few points either way.",
	"An update follows only if the facts change.",
	"",
	"",
}

// revisions are the openings of a second prediction on the same market.
var revisions = []string{
	"Update: ", "Revised after new information: ", "A second prediction on this: ", "Closer to the date: ",
}

// coverage is the communities from which each category cites news. No community covers sports and culture.
var coverage = map[string][]string{
	"economics": {"economics"}, "politics": {"politics", "worldnews"}, "sports": {},
	"crypto": {"economics"}, "technology": {"technology", "futurology"}, "science": {"science"},
	"climate": {"worldnews", "science"}, "culture": {}, "health": {"science", "futurology"},
}

// bodies are the resolution sources of each category.
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
