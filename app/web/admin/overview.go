package admin

import (
	"context"
	"fmt"
	"time"

	domain "github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/monitor"
	views "github.com/pulsecast/pulsecast/views/admin"
	"github.com/pulsecast/pulsecast/views/components"
)

// What makes a number a concern.
const (
	agedQueue    = 24 * time.Hour // how long a prediction may be due
	manyErrors   = 0.2            // part of the requests that may fail
	enoughToTell = 100            // requests below which the part says nothing
	manySignUps  = 100            // new agents a day
)

func (d *Desk) overview(v *visit) error {
	ctx := v.UserContext()
	f, err := d.admins.Overview(ctx, d.DB.Reader, d.Now())
	if err != nil {
		return err
	}
	q, err := d.Monitor.Queues(ctx)
	if err != nil {
		return err
	}
	p := views.OverviewProps{Frame: d.frame(v, "Overview", "/admin"), Figures: figures(&f, &q)}
	if err := d.addFeeds(ctx, &p); err != nil {
		return err
	}
	p.Concerns = append(p.Concerns, d.concerns(&f, &q)...)
	latest, _, err := d.admins.Audit(ctx, d.DB.Reader, domain.AuditFilter{Limit: 8})
	if err != nil {
		return err
	}
	p.Latest = d.entryProps(latest)
	return show(v.Ctx, views.Overview(p))
}

func (d *Desk) concerns(f *domain.Figures, q *monitor.Queues) []views.Concern {
	var list []views.Concern
	if failed := f.Errors + f.Limited; f.Requests >= enoughToTell && float64(failed) >= manyErrors*float64(f.Requests) {
		list = append(list, views.Concern{Text: fmt.Sprintf("%s of the requests of 24 hours failed", components.Percent(float64(failed)/float64(f.Requests))), Href: "/admin/agents?sort=errors", Grave: true})
	}
	if f.Joined >= manySignUps {
		list = append(list, views.Concern{Text: components.Count(int(f.Joined)) + " agents joined in 24 hours", Href: "/admin/agents"})
	}
	if q.Reports.Count > 0 {
		list = append(list, views.Concern{Text: components.Plural(int(q.Reports.Count), "report waits", "reports wait"), Href: "/admin/settlement#reports"})
	}
	if q.Due.Count > 0 {
		list = append(list, views.Concern{Text: components.Plural(int(q.Due.Count), "prediction is", "predictions are") + " due for a ruling, the oldest " + d.when(q.Due.Oldest).Relative(), Href: "/admin/settlement#due", Grave: q.Due.Age(d.Now()) > agedQueue})
	}
	if q.Markets.Count > 0 {
		list = append(list, views.Concern{Text: components.Plural(int(q.Markets.Count), "market does", "markets do") + " not settle", Href: "/admin/settlement#markets"})
	}
	return list
}

func figures(f *domain.Figures, q *monitor.Queues) []views.Figure {
	whole := func(n int64) string { return components.Count(int(n)) }
	errors := views.Figure{Label: "Failed, 24 h", Value: whole(f.Errors + f.Limited), Note: "or limited", Href: "/admin/agents?sort=errors"}
	if f.Requests > 0 {
		errors.Note += ", " + tenths(float64(f.Errors+f.Limited)/float64(f.Requests))
	}
	return []views.Figure{
		{Label: "Agents", Value: whole(f.Agents), Note: whole(f.Seen) + " seen in the last hour", Href: "/admin/agents"},
		{Label: "Joined, 24 h", Value: whole(f.Joined), Note: whole(f.Disabled) + " disabled in all", Href: "/admin/agents"},
		{Label: "Published, 24 h", Value: whole(f.Published), Href: "/admin/agents?sort=day"},
		{Label: "Settled, 24 h", Value: whole(f.Settled)},
		{Label: "Requests, 24 h", Value: whole(f.Requests), Note: "of agents", Href: "/admin/agents?sort=requests"},
		errors,
		{Label: "Wait for a ruling", Value: whole(q.Due.Count + q.Markets.Count), Note: components.Plural(int(q.Reports.Count), "report", "reports"), Href: "/admin/settlement"},
	}
}

// addFeeds adds how the sources do, and what is wrong with them first.
func (d *Desk) addFeeds(ctx context.Context, p *views.OverviewProps) error {
	p.Feeds = views.Table{Heads: []views.Head{{Label: "Feed"}, {Label: "State"}, {Label: "Source", Wide: true}, {Label: "Records", Num: true}, {Label: "Read"}, {Label: "Error"}}}
	feeds, err := d.Monitor.Feeds(ctx)
	if err != nil {
		return err
	}
	for _, f := range feeds {
		problem := f.Readings.LastError
		state := views.Cell{Text: "fresh", Badge: "badge-resolved"}
		if f.Stale {
			state = views.Cell{Text: "stale", Badge: "badge-provisional"}
			p.Concerns = append(p.Concerns, views.Concern{Text: components.Capital(f.Name) + " are out of date", Href: "/admin/sources", Grave: true})
		} else if problem != "" {
			p.Concerns = append(p.Concerns, views.Concern{Text: components.Capital(f.Name) + ": the last reading had an error (" + problem + ")", Href: "/admin/sources"})
		}
		p.Feeds.Rows = append(p.Feeds.Rows, []views.Cell{{Text: components.Capital(f.Name), Href: "/admin/sources"}, state,
			{Text: f.Readings.Source, Wide: true}, count(int64(f.Records)), d.moment(f.AsOf), {Text: problem, Tone: "neg"}})
	}
	return nil
}
