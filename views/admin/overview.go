package admin

import (
	"time"

	"github.com/pulsecast/pulsecast/views/components"
)

// Thresholds from which the overview shows a concern.
const (
	agedQueue   = 24 * time.Hour // longest time that a prediction may be due
	manyErrors  = 0.2            // share of requests that were refused, limited or failed, 0..1
	minRequests = 100            // with fewer requests the share says too little
	manySignUps = 100            // new agents per day
)

// OverviewProps holds the numbers of the first page. They are of the last 24 hours unless a name
// says otherwise.
type OverviewProps struct {
	Frame            Frame
	Agents, Disabled int64 // total
	Joined           int64
	SeenLastHour     int64
	Published        int64
	Settled          int64
	Requests, Failed int64 // Failed counts those answered 4xx or 5xx, including 429
	Reports          int64 // open reports
	Due, Markets     int64 // predictions and markets that wait for a ruling
	MoreDue          bool  // more predictions wait than Due says
	OldestDue        time.Time
	Feeds            []OverviewFeed
	Backups          *Backups // nil if no backup is scheduled
	Archive          *Archive // nil without an archive
	DiskFull         bool     // the disk of the database
	BaselinesLate    bool
	Latest           []Entry
}

// OverviewFeed is the state of one feed of signals.
type OverviewFeed struct {
	Name, Source, LastError string
	Stale                   bool
	Records                 int
	AsOf                    time.Time
}

// concern is a problem that an admin should look at.
type concern struct {
	text, href string
	grave      bool
}

func (p *OverviewProps) concerns() []concern {
	list := p.feedConcerns()
	add := func(text, href string, grave bool) { list = append(list, concern{text, href, grave}) }
	if p.DiskFull {
		add("The disk of the database is almost full", "/admin/system", true)
	}
	if p.BaselinesLate {
		add("Predictions wait too long for their baseline", "/admin/system", true)
	}
	if b := p.Backups; b != nil && (b.Late || b.Failures > 0) {
		add("The backups are late or fail", "/admin/system", true)
	}
	if a := p.Archive; a != nil && a.Late {
		add("The archive is late or fails", "/admin/system", true)
	}
	if p.Requests >= minRequests && float64(p.Failed) >= manyErrors*float64(p.Requests) {
		add(components.Percent(float64(p.Failed)/float64(p.Requests))+" of the requests of 24 hours were refused, limited or failed", "/admin/agents?sort=errors", true)
	}
	if p.Joined >= manySignUps {
		add(components.Count(int(p.Joined))+" agents joined in 24 hours", "/admin/agents", false)
	}
	if p.Reports > 0 {
		add(components.Plural(int(p.Reports), "report waits", "reports wait"), "/admin/settlement#disputes", false)
	}
	if p.Due > 0 {
		due := components.Plural(int(p.Due), "prediction is", "predictions are")
		if p.MoreDue {
			due = components.Count(int(p.Due)) + "+\u00a0predictions are"
		}
		add(due+" due for a ruling, the oldest "+p.Frame.when(p.OldestDue).Relative(),
			"/admin/settlement#due", p.Frame.Now.Sub(p.OldestDue) > agedQueue)
	}
	if p.Markets > 0 {
		add(components.Plural(int(p.Markets), "market does", "markets do")+" not settle", "/admin/settlement#markets", false)
	}
	return list
}

func (p *OverviewProps) feedConcerns() (list []concern) {
	for _, f := range p.Feeds {
		name := components.Capital(f.Name)
		switch {
		case f.Stale:
			list = append(list, concern{name + " are out of date", "/admin/sources", true})
		case f.LastError != "":
			list = append(
				list, concern{name + ": the last reading had an error (" + f.LastError + ")", "/admin/sources", false},
			)
		}
	}
	return list
}

// figure is one number on the overview.
type figure struct{ label, value, note, href string }

func (p *OverviewProps) figures() []figure {
	whole := func(n int64) string { return components.Count(int(n)) }
	failed := figure{"4xx or 5xx, 24 h", whole(p.Failed), "refused, limited or failed", "/admin/agents?sort=errors"}
	if p.Requests > 0 {
		failed.note += ", " + tenths(float64(p.Failed)/float64(p.Requests))
	}
	return []figure{
		{"Agents", whole(p.Agents), whole(p.SeenLastHour) + " seen in the last hour", "/admin/agents"},
		{"Joined, 24 h", whole(p.Joined), whole(p.Disabled) + " disabled in all", "/admin/agents"},
		{"Published, 24 h", whole(p.Published), "", "/admin/agents?sort=day"},
		{"Settled, 24 h", whole(p.Settled), "", ""},
		{"Requests, 24 h", whole(p.Requests), "of agents", "/admin/agents?sort=requests"},
		failed,
		{"Wait for a ruling", whole(p.Due+p.Markets) + plus(p.MoreDue), components.Plural(int(p.Reports), "report", "reports"), "/admin/settlement"},
	}
}

func (p *OverviewProps) feeds() table {
	t := table{heads: []head{{label: "Feed"}, {label: "State"}, {label: "Source", wide: true}, {label: "Records", num: true},
		{label: "Read"}, {label: "Error"}}}
	for _, f := range p.Feeds {
		t.rows = append(t.rows, []cell{{text: components.Capital(f.Name), href: "/admin/sources"}, freshness(f.Stale), text(f.Source),
			count(int64(f.Records)), p.Frame.moment(f.AsOf), {text: f.LastError, tone: "neg"}})
	}
	return t
}

func freshness(stale bool) cell {
	if stale {
		return cell{text: "stale", badge: "badge-provisional"}
	}
	return cell{text: "fresh", badge: "badge-resolved"}
}
