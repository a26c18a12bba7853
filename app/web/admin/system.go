package admin

import (
	"context"
	"runtime"
	"time"

	"github.com/pulsecast/pulsecast/app/queue"
	views "github.com/pulsecast/pulsecast/views/admin"
)

// pingTimeout is how long the page waits for the database and the cache.
const pingTimeout = 2 * time.Second

func (d *Site) system(v *visit) error {
	ctx := v.UserContext()
	p := views.SystemProps{
		Frame: d.frame(v, "System", "/admin/system"), Version: d.Version + ", " + runtime.Version(), StartedAt: d.started,
		Database: d.ping(ctx, string(d.DB.Kind), d.DB.Check), Cache: d.ping(ctx, d.CacheKind, d.PingCache),
		Memory: memory(), Goroutines: runtime.NumGoroutine(), Node: d.Holder,
	}
	p.UnwrittenAgents, p.UnwrittenErrors = d.Usage.Waiting()
	for _, add := range []func(context.Context, *visit, *views.SystemProps) error{d.addQueues, d.addBackups, d.addArchive, d.addLeases, d.addAdmins, d.addSessions} {
		if err := add(ctx, v, &p); err != nil {
			return err
		}
	}
	for _, s := range d.Config.Settings() {
		p.Settings = append(p.Settings, views.Setting{Name: s.Name, Value: s.Value, Set: s.Set})
	}
	return show(v.Ctx, views.System(p))
}

// addQueues adds the queues, counted over all nodes.
func (d *Site) addQueues(ctx context.Context, _ *visit, p *views.SystemProps) error {
	waiting, err := d.Monitor.Queues(ctx)
	if err != nil {
		return err
	}
	for _, q := range []struct {
		kind string
		queue.Depth
	}{
		{"baselines", waiting.Baselines}, {"markets", waiting.Markets}, {"outcomes", waiting.Outcomes}, {"due", waiting.Due},
		{"boards", waiting.Boards}, {"reports", waiting.Reports},
	} {
		p.Queues = append(p.Queues, views.Queue{Kind: q.kind, Count: q.Count, More: q.More, Oldest: q.Oldest})
	}
	return nil
}

func (d *Site) addBackups(ctx context.Context, _ *visit, p *views.SystemProps) (err error) {
	p.Backups, err = d.backups(ctx)
	return err
}

// backups returns nil if no backup is scheduled.
func (d *Site) backups(ctx context.Context) (*views.Backups, error) {
	b, scheduled, err := d.Monitor.Backups(ctx)
	if err != nil || !scheduled {
		return nil, err
	}
	return &views.Backups{At: b.At, Name: b.Name, Bytes: b.Bytes, Predictions: b.Predictions, Failures: b.Failures, Late: b.Late}, nil
}

func (d *Site) addArchive(ctx context.Context, _ *visit, p *views.SystemProps) (err error) {
	p.Archive, err = d.archive(ctx)
	return err
}

// archive returns nil without an archive.
func (d *Site) archive(ctx context.Context) (*views.Archive, error) {
	st, kept, err := d.Monitor.Archive(ctx)
	if err != nil || !kept {
		return nil, err
	}
	now := d.Now()
	return &views.Archive{
		LastDay: st.LastSealed, DaysWaiting: st.DaysWaiting(now), Segments: st.Waiting, Failures: st.Failures, Late: st.Troubled(now),
	}, nil
}

func (d *Site) addLeases(ctx context.Context, _ *visit, p *views.SystemProps) error {
	leases, err := d.Monitor.Jobs(ctx)
	for _, l := range leases {
		p.Leases = append(p.Leases, views.Lease{
			Job: l.Name, Node: l.Holder, Here: l.Holder == d.Holder, Held: !l.Expired,
		})
	}
	return err
}

func (d *Site) addAdmins(ctx context.Context, _ *visit, p *views.SystemProps) error {
	admins, err := d.admins.List(ctx, d.DB.Reader)
	for _, a := range admins {
		p.Admins = append(p.Admins, views.Admin{Name: a.Name, CreatedAt: a.CreatedAt, SignedInAt: a.SignedInAt})
	}
	return err
}

func (d *Site) addSessions(ctx context.Context, v *visit, p *views.SystemProps) error {
	sessions, err := d.admins.SessionsOf(ctx, d.DB.Reader, v.admin.ID)
	for _, s := range sessions {
		p.Sessions = append(p.Sessions, views.Session{Address: s.Address, This: string(s.Hash) == string(v.session.Hash),
			CreatedAt: s.CreatedAt, SeenAt: s.SeenAt, ExpiresAt: s.ExpiresAt})
	}
	return err
}

// memory returns the memory that the process has in use, in bytes.
func memory() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

func (d *Site) ping(ctx context.Context, kind string, ping func(context.Context) error) views.Ping {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	begin := time.Now()
	err := ping(ctx)
	if err != nil {
		d.Log.Warn("a dependency does not answer", "kind", kind, "error", err)
	}
	return views.Ping{Kind: kind, Took: time.Since(begin), Failed: err != nil}
}
