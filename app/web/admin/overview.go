package admin

import (
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/ingest"
	views "github.com/pulsecast/pulsecast/views/admin"
)

// latestActs is how many entries of the audit log the overview shows.
const latestActs = 8

func (d *Site) overview(v *visit) error {
	ctx := v.UserContext()
	f, err := d.Moderation.Figures(ctx)
	if err != nil {
		return err
	}
	q, err := d.Settlement.Queued(ctx)
	if err != nil {
		return err
	}
	p := views.OverviewProps{
		Frame: d.frame(v, "Overview", "/admin"), Agents: f.Agents, Disabled: f.Disabled, Joined: f.Joined, SeenLastHour: f.Seen,
		Published: f.Published, Settled: f.Settled, Requests: f.Requests.Requests, Failed: f.Requests.Errors + f.Requests.Limited,
		Reports: f.Reports, Due: q.Due, Markets: q.Markets, OldestDue: q.Oldest,
	}
	for _, feed := range d.Feeds {
		s, _, err := ingest.State(ctx, d.DB.Reader, feed.Name)
		if err != nil {
			return err
		}
		p.Feeds = append(p.Feeds, views.OverviewFeed{Name: feed.Name, Source: s.Source, LastError: s.LastError, Stale: feed.Stale(), Records: feed.Count(), AsOf: feed.AsOf()})
	}
	latest, _, err := audit.List(ctx, d.DB.Reader, audit.Filter{Limit: latestActs})
	if err != nil {
		return err
	}
	p.Latest = entryProps(latest)
	return show(v.Ctx, views.Overview(p))
}
