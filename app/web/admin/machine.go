package admin

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/uptrace/bun"

	domain "github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/ingest"
	"github.com/pulsecast/pulsecast/app/monitor"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/queue"
	"github.com/pulsecast/pulsecast/app/worker"
	views "github.com/pulsecast/pulsecast/views/admin"
	"github.com/pulsecast/pulsecast/views/components"
)

// tickPatience is how long a browser waits for a reading, which goes on without it.
const tickPatience = 8 * time.Second

func (d *Desk) sources(v *visit) error {
	p := views.SourcesProps{Frame: d.frame(v, "Sources", "/admin/sources")}
	feeds, err := d.Monitor.Feeds(v.UserContext())
	if err != nil {
		return err
	}
	for _, f := range feeds {
		feed := d.feedProps(&f)
		bad, err := ingest.BadPayloads(v.UserContext(), d.DB.Reader, f.Name)
		if err != nil {
			return err
		}
		for i := range bad {
			feed.Bad = append(feed.Bad, d.payloadProps(&bad[i]))
		}
		p.Feeds = append(p.Feeds, feed)
	}
	return show(v.Ctx, views.Sources(p))
}

func (d *Desk) payloadProps(b *ingest.BadPayload) views.Payload {
	p := views.Payload{Source: b.Source, Reason: b.Reason, At: d.when(b.ReceivedAt), Text: readable(b.Body)}
	if b.Cut > 0 {
		p.Cut = components.Count(int(b.Cut)) + " bytes after these are cut."
		if b.Reason == "too_large" {
			p.Cut = "At least " + p.Cut
		}
	}
	return p
}

// readable is what an upstream sent as text in which nothing hides: what is no
// printable character is written as an escape.
func readable(body []byte) string {
	var b strings.Builder
	for len(body) > 0 {
		r, size := utf8.DecodeRune(body)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, body[0])
		case r == '\n' || r == '\t' || strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		body = body[size:]
	}
	return b.String()
}

func (d *Desk) feedProps(f *monitor.Feed) views.Feed {
	s := &f.Readings
	out := views.Feed{Name: f.Name, Stale: f.Stale, Tick: views.Button{Action: "/admin/sources/" + f.Name + "/tick", Label: "Read it now"}}
	add := func(name string, c views.Cell) { out.Facts = append(out.Facts, views.Fact{Name: name, Cell: c}) }
	if s.Feed == "" {
		add("State", views.Cell{Text: "never read"})
	}
	add("Source", views.Cell{Text: s.Source})
	add("Last success", d.moment(s.SucceededAt))
	add("Shown here", d.moment(f.AsOf))
	if !f.AsOf.IsZero() {
		add("Lag", views.Cell{Text: d.Now().Sub(f.AsOf).Round(time.Second).String()})
	}
	add("Records", views.Cell{Text: components.Count(s.Count) + " read, " + components.Count(f.Records) + " shown here"})
	if s.LastError != "" {
		c := views.Cell{Text: s.LastError, Tone: "neg"}
		if s.Failures > 0 {
			c.Note = components.Plural(s.Failures, "failure", "failures") + " in a row"
		}
		add("Error", c)
	} else {
		add("Error", views.Cell{Text: "none", Tone: "muted"})
	}
	add("Last failure", d.moment(s.FailedAt))
	add("Next attempt", d.moment(s.NextAt))
	dropped := 0
	out.Dropped = views.Table{Heads: []views.Head{{Label: "Dropped because"}, {Label: "Records", Num: true}}}
	for _, reason := range slices.Sorted(maps.Keys(s.Dropped)) {
		dropped += s.Dropped[reason]
		out.Dropped.Rows = append(out.Dropped.Rows, []views.Cell{{Text: reason}, count(int64(s.Dropped[reason]))})
	}
	add("Dropped", views.Cell{Text: components.Count(dropped) + " of the last reading"})
	return out
}

// tick reads a source now, whoever holds its lease. The reading goes on when the
// browser leaves.
func (d *Desk) tick(v *visit) error {
	feed := v.param("feed")
	readNow, found := d.Tick[feed]
	if !found {
		return problem.NotFound("There is no such source.")
	}
	err := d.DB.InTx(v.UserContext(), func(ctx context.Context, tx bun.Tx) error {
		return d.admins.Record(ctx, tx, d.entry(v, domain.ActTick, domain.FeedTarget(feed)))
	})
	if err != nil {
		return err
	}
	read := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		defer func() {
			if p := recover(); p != nil {
				read <- fmt.Errorf("panic: %v", p)
			}
		}()
		_, err := readNow(ctx)
		if err != nil {
			d.Log.Warn("a reading that an admin asked for failed", "feed", feed, "error", err)
		}
		read <- err
	}()
	patience := time.NewTimer(tickPatience)
	defer patience.Stop()
	word := "reading"
	select {
	case err := <-read:
		word = "read"
		if err != nil {
			word = "failed"
		}
	case <-patience.C:
	}
	return goOn(v.Ctx, "/admin/sources", word)
}

func (d *Desk) system(v *visit) error {
	ctx, db := v.UserContext(), d.DB.Reader
	p := views.SystemProps{Frame: d.frame(v, "System", "/admin/system"), Facts: d.machineFacts(ctx)}
	queues, err := d.Monitor.Queues(ctx)
	if err != nil {
		return err
	}
	p.Queues = d.queueTable(&queues)
	leases, err := d.Monitor.Jobs(ctx)
	if err != nil {
		return err
	}
	p.Leases = d.leaseTable(leases)
	admins, err := d.admins.List(ctx, db)
	if err != nil {
		return err
	}
	p.Admins = views.Table{Empty: "Nobody", Heads: []views.Head{{Label: "Name"}, {Label: "Made"}, {Label: "Last signed in"}}}
	for _, a := range admins {
		p.Admins.Rows = append(p.Admins.Rows, []views.Cell{{Text: a.Name}, d.moment(a.CreatedAt), d.moment(a.SignedInAt)})
	}
	sessions, err := d.admins.SessionsOf(ctx, db, v.admin.ID)
	if err != nil {
		return err
	}
	p.Sessions = views.Table{Heads: []views.Head{{Label: "From"}, {Label: "Since"}, {Label: "Last used"}, {Label: "Ends"}}}
	for _, s := range sessions {
		from := views.Cell{Text: s.Address}
		if string(s.Hash) == string(v.session.Hash) {
			from.Note = "this one"
		}
		p.Sessions.Rows = append(p.Sessions.Rows, []views.Cell{from, d.moment(s.CreatedAt), d.moment(s.SeenAt), d.moment(s.ExpiresAt)})
	}
	p.Settings = views.Table{Caption: "Secrets are masked; what differs from the default is marked.", Heads: []views.Head{{Label: "Variable"}, {Label: "Value"}, {Label: "From"}}}
	for _, s := range d.Config.Settings() {
		mark := views.Cell{Text: "default", Tone: "muted"}
		if s.Set {
			mark = views.Cell{Text: "set", Badge: "badge-open"}
		}
		p.Settings.Rows = append(p.Settings.Rows, []views.Cell{{Text: s.Name}, {Text: s.Value}, mark})
	}
	return show(v.Ctx, views.System(p))
}

// queueTable is what waits, of all nodes together, and what this one has to write.
func (d *Desk) queueTable(w *monitor.Queues) views.Table {
	t := views.Table{Heads: []views.Head{{Label: "What waits"}, {Label: "How many", Num: true}, {Label: "The oldest since"}}}
	for _, q := range []struct {
		name, href, note string
		queue.Depth
	}{
		{"Predictions without a baseline", "", "the next price of their market fixes it", w.Baselines},
		{"Ended markets with open predictions", "/admin/settlement#markets", "", w.Markets},
		{"Outcomes not applied", "", "predictions are still being settled", w.Outcomes},
		{"Predictions past their horizon", "/admin/settlement#due", "without a market: an admin settles them", w.Due},
		{"Scores that no board shows", "", "the leaderboard follows within seconds", w.Boards},
		{"Open reports", "/admin/settlement#reports", "", w.Reports},
	} {
		since := views.Cell{Text: "nothing waits", Tone: "muted"}
		if !q.Oldest.IsZero() {
			since = d.moment(q.Oldest)
		}
		t.Rows = append(t.Rows, []views.Cell{{Text: q.name, Href: q.href, Note: q.note}, count(q.Count), since})
	}
	agents, errors := d.Usage.Waiting()
	t.Rows = append(t.Rows, []views.Cell{{Text: "Usage to write", Note: "of this node, every ten seconds"},
		{Text: components.Count(agents), Num: true, Note: components.Plural(errors, "error", "errors")}, {Text: "at most ten seconds", Tone: "muted"}})
	return t
}

func (d *Desk) machineFacts(ctx context.Context) []views.Fact {
	fact := func(name, text string) views.Fact { return views.Fact{Name: name, Cell: views.Cell{Text: text}} }
	return []views.Fact{
		fact("Version", d.Version+", "+runtime.Version()),
		{Name: "Started", Cell: d.moment(d.started)},
		{Name: "Database", Cell: d.pinged(ctx, string(d.DB.Kind), d.DB.PingContext)},
		{Name: "Cache", Cell: d.pinged(ctx, d.CacheKind, d.PingCache)},
		fact("Memory", fmt.Sprintf("%d MiB", memory()>>20)),
		fact("Goroutines", components.Count(runtime.NumGoroutine())),
		fact("This node", d.Holder),
	}
}

func memory() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

func (d *Desk) pinged(ctx context.Context, kind string, ping func(context.Context) error) views.Cell {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	begin := time.Now()
	if err := ping(ctx); err != nil {
		d.Log.Warn("a part does not answer", "part", kind, "error", err)
		return views.Cell{Text: kind + ", does not answer", Tone: "neg"}
	}
	return views.Cell{Text: kind + ", answers in " + time.Since(begin).Round(10*time.Microsecond).String()}
}

func (d *Desk) leaseTable(list []worker.Held) views.Table {
	t := views.Table{Empty: "No node works", Heads: []views.Head{{Label: "Job"}, {Label: "Node"}, {Label: "Lease"}}}
	for _, l := range list {
		node := views.Cell{Text: l.Holder[:min(8, len(l.Holder))], Title: l.Holder}
		if l.Holder == d.Holder {
			node.Note = "this node"
		}
		state := views.Cell{Text: "held", Badge: "badge-resolved"}
		if !l.ExpiresAt.After(d.Now()) {
			state = views.Cell{Text: "expired", Badge: "badge-provisional"}
		}
		t.Rows = append(t.Rows, []views.Cell{{Text: l.Name}, node, state})
	}
	return t
}
