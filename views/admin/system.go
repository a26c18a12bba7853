package admin

import (
	"strconv"
	"time"

	"github.com/pulsecast/pulsecast/views/components"
)

// SystemProps is the state of the service.
type SystemProps struct {
	Frame           Frame
	Version         string
	StartedAt       time.Time
	Database, Cache Ping
	Memory          uint64 // bytes
	Goroutines      int
	Node            string // name of this node
	Queues          []Queue
	// UnwrittenAgents and UnwrittenErrors count what this node hasn't written to the database yet.
	UnwrittenAgents, UnwrittenErrors int
	Backups                          *Backups // nil if no backup is scheduled
	Archive                          *Archive // nil without an archive
	Leases                           []Lease
	Admins                           []Admin
	Sessions                         []Session
	Settings                         []Setting
}

// Ping is the answer of a database or a cache.
type Ping struct {
	Kind   string
	Took   time.Duration
	Failed bool
}

// Queue is one queue. Kind is a key of queueWords. Oldest is zero if the queue is empty.
type Queue struct {
	Kind   string
	Count  int64
	More   bool // more wait than Count says
	Oldest time.Time
}

// Backups is the state of the scheduled backups. At is zero before the first.
type Backups struct {
	At          time.Time
	Name        string
	Bytes       int64
	Predictions int64
	Failures    int // failures in a row
	Late        bool
}

// Archive is the state of the archive. LastDay is the last sealed day, "" before the first.
type Archive struct {
	LastDay     string
	DaysWaiting int   // days that have ended and aren't sealed
	Segments    int64 // segments that wait in the database
	Failures    int   // of the job, in a row
	Late        bool
}

// Lease says which node runs a job.
type Lease struct {
	Job, Node  string
	Here, Held bool
}

// Admin is one admin.
type Admin struct {
	Name                  string
	CreatedAt, SignedInAt time.Time
}

// Session is one browser in which the admin is signed in.
type Session struct {
	Address                      string
	This                         bool
	CreatedAt, SeenAt, ExpiresAt time.Time
}

// Setting is one setting of the configuration. A secret is masked.
type Setting struct {
	Name, Value string
	Set         bool // differs from the default
}

// queueWords holds the label of a queue, the page that shows it, and a note.
var queueWords = map[string]struct{ label, href, note string }{
	"baselines": {"Predictions without a baseline", "", "the next price of their market fixes it"},
	"markets":   {"Ended markets with open predictions", "/admin/settlement#markets", ""},
	"outcomes":  {"Outcomes not applied", "", "predictions are still being settled"},
	"due":       {"Predictions past their horizon", "/admin/settlement#due", "without a market: an admin settles them"},
	"boards":    {"Scores that no board shows", "", "the leaderboard follows within seconds"},
	"reports":   {"Open reports", "/admin/settlement#disputes", ""},
}

func (p *SystemProps) facts() facts {
	return facts{
		{"Version", text(p.Version)},
		{"Started", p.Frame.moment(p.StartedAt)},
		{"Database", p.Database.cell()},
		{"Cache", p.Cache.cell()},
		{"Latest backup", p.backup()},
		{"Last day in the archive", p.archive()},
		{"Memory", text(strconv.FormatUint(p.Memory>>20, 10) + " MiB")},
		{"Goroutines", text(components.Count(p.Goroutines))},
		{"This node", text(p.Node)},
	}
}

func (p *SystemProps) backup() cell {
	b := p.Backups
	if b == nil {
		return cell{text: "none is scheduled", tone: "muted"}
	}
	c := cell{text: "none yet"}
	if !b.At.IsZero() {
		c = p.Frame.moment(b.At)
		c.note = b.Name + ", " + strconv.FormatInt(b.Bytes>>20, 10) + " MiB, " + components.Plural(int(b.Predictions), "prediction", "predictions")
	}
	switch {
	case b.Failures > 0:
		c.tone, c.note = "neg", components.Plural(b.Failures, "attempt", "attempts")+" failed since"
	case b.Late:
		c.tone, c.note = "neg", "late"
	}
	return c
}

func (p *SystemProps) archive() cell {
	a := p.Archive
	if a == nil {
		return cell{text: "there is no archive", tone: "muted"}
	}
	c := cell{text: "none yet"}
	if a.LastDay != "" {
		c = text(a.LastDay)
	}
	c.note = components.Plural(a.DaysWaiting, "day", "days") + " and " + components.Plural(int(a.Segments), "segment", "segments") + " wait"
	switch {
	case a.Failures > 0:
		c.tone, c.note = "neg", c.note+"; "+components.Plural(a.Failures, "run", "runs")+" of the job failed since"
	case a.Late:
		c.tone, c.note = "neg", c.note+"; late"
	}
	return c
}

func (p Ping) cell() cell {
	if p.Failed {
		return cell{text: p.Kind + ", does not answer", tone: "neg"}
	}
	return text(p.Kind + ", answers in " + p.Took.Round(10*time.Microsecond).String())
}

func (p *SystemProps) queues() table {
	t := table{heads: []head{{label: "What waits"}, {label: "How many", num: true}, {label: "The oldest since"}}}
	for _, q := range p.Queues {
		since := cell{text: "nothing waits", tone: "muted"}
		if !q.Oldest.IsZero() {
			since = p.Frame.moment(q.Oldest)
		}
		w := queueWords[q.Kind]
		t.rows = append(t.rows, []cell{{text: w.label, href: w.href, note: w.note}, text(components.Count(int(q.Count)) + plus(q.More)), since})
	}
	unwritten := count(int64(p.UnwrittenAgents))
	unwritten.note = components.Plural(p.UnwrittenErrors, "error", "errors")
	t.rows = append(t.rows, []cell{{text: "Usage to write", note: "of this node, every ten seconds"}, unwritten,
		{text: "at most ten seconds", tone: "muted"}})
	return t
}

func (p *SystemProps) leases() table {
	t := table{empty: "No node runs jobs", heads: []head{{label: "Job"}, {label: "Node"}, {label: "Lease"}}}
	for _, l := range p.Leases {
		node := cell{text: l.Node[:min(8, len(l.Node))], title: l.Node}
		if l.Here {
			node.note = "this node"
		}
		state := cell{text: "expired", badge: "badge-provisional"}
		if l.Held {
			state = cell{text: "held", badge: "badge-resolved"}
		}
		t.rows = append(t.rows, []cell{text(l.Job), node, state})
	}
	return t
}

func (p *SystemProps) admins() table {
	t := table{empty: "No admins yet", heads: []head{{label: "Name"}, {label: "Created"}, {label: "Last signed in"}}}
	for _, a := range p.Admins {
		t.rows = append(t.rows, []cell{text(a.Name), p.Frame.moment(a.CreatedAt), p.Frame.moment(a.SignedInAt)})
	}
	return t
}

func (p *SystemProps) sessions() table {
	t := table{heads: []head{{label: "From"}, {label: "Since"}, {label: "Last used"}, {label: "Ends"}}}
	for _, s := range p.Sessions {
		from := text(s.Address)
		if s.This {
			from.note = "this one"
		}
		t.rows = append(
			t.rows, []cell{from, p.Frame.moment(s.CreatedAt), p.Frame.moment(s.SeenAt), p.Frame.moment(s.ExpiresAt)},
		)
	}
	return t
}

func (p *SystemProps) settings() table {
	t := table{caption: "Secrets are masked. Settings that differ from the default are marked.",
		heads: []head{{label: "Variable"}, {label: "Value"}, {label: "From"}}}
	for _, s := range p.Settings {
		from := cell{text: "default", tone: "muted"}
		if s.Set {
			from = cell{text: "set", badge: "badge-open"}
		}
		t.rows = append(t.rows, []cell{text(s.Name), text(s.Value), from})
	}
	return t
}
