package admin

import (
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/monitor"
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
	q, err := d.Monitor.Queues(ctx)
	if err != nil {
		return err
	}
	p := views.OverviewProps{
		Frame: d.frame(v, "Overview", "/admin"), Agents: f.Agents, Disabled: f.Disabled, Joined: f.Joined, SeenLastHour: f.Seen,
		Published: f.Published, Settled: f.Settled, Requests: f.Requests.Requests, Failed: f.Requests.Errors + f.Requests.Limited,
		Reports: q.Reports.Count, Due: q.Due.Count, MoreDue: q.Due.More, Markets: q.Markets.Count, OldestDue: q.Due.Oldest,
	}
	feeds, err := d.Monitor.Feeds(ctx)
	if err != nil {
		return err
	}
	for _, f := range feeds {
		p.Feeds = append(p.Feeds, views.OverviewFeed{Name: f.Name, Source: f.Readings.Source, LastError: f.Readings.LastError,
			Stale: f.Stale, Records: f.Records, AsOf: f.AsOf})
	}
	room, ours, err := d.Monitor.Disk()
	if err != nil {
		return err
	}
	p.DiskFull, p.BaselinesLate = ours && room.Full(), q.Baselines.Age(d.Now()) > monitor.BaselinesLate
	if p.Backups, err = d.backups(ctx); err != nil {
		return err
	}
	if p.Archive, err = d.archive(ctx); err != nil {
		return err
	}
	latest, _, err := audit.List(ctx, d.DB.Reader, audit.Filter{Limit: latestActs})
	if err != nil {
		return err
	}
	if p.Latest, err = d.entryProps(ctx, latest); err != nil {
		return err
	}
	return show(v.Ctx, views.Overview(p))
}
