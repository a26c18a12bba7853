package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/memo"
	"github.com/pulsecast/pulsecast/app/problem"
)

const (
	// lookBack is how many days before T a world knows: news, events and prices.
	lookBack = 7
	// unseenFor is how long after its last reading an open market is still in a world.
	unseenFor = 72 * time.Hour
	// keptDays bounds the days in memory with all their readings, keptDigests those with some.
	keptDays    = 2
	keptDigests = 4 * (lookBack + 1)
	// readTimeout bounds reading a day, which may come over a network.
	readTimeout = 2 * time.Minute
)

// Tape reads the days of an archive. It keeps a few of them in memory; its methods are safe for
// concurrent use.
type Tape struct {
	storage archive.Storage
	days    *memo.Cache[string, *day]
	digests *memo.Cache[string, *day]

	mu     sync.Mutex
	sealed []string // the days of the archive, in order; nil before the first look
	looked time.Time
}

// NewTape returns a tape of the archive in s.
func NewTape(s archive.Storage) *Tape {
	return &Tape{
		storage: s,
		days:    memo.New[string](memo.Options[*day]{Size: keptDays, Now: time.Now, Timeout: readTimeout}),
		digests: memo.New[string](memo.Options[*day]{Size: keptDigests, Now: time.Now, Timeout: readTimeout}),
	}
}

// relookAfter is how long the list of days is kept: an archive grows once a day.
const relookAfter = time.Minute

// Days lists the sealed days in order.
func (t *Tape) Days(ctx context.Context) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed != nil && time.Since(t.looked) < relookAfter {
		return t.sealed, nil
	}
	list, err := t.storage.List(ctx, "days/")
	if err != nil {
		return nil, fmt.Errorf("list the days of the archive: %w", err)
	}
	var days []string
	for _, o := range list {
		rest, _ := strings.CutPrefix(o.Name, "days/")
		name, ok := strings.CutSuffix(rest, "/"+archive.ManifestName)
		if _, err := time.Parse(time.DateOnly, name); ok && err == nil {
			days = append(days, name)
		}
	}
	slices.Sort(days)
	t.sealed, t.looked = days, time.Now()
	return days, nil
}

// Span returns the first and the end of the last archived day.
func (t *Tape) Span(ctx context.Context) (from, to time.Time, err error) {
	days, err := t.Days(ctx)
	if err != nil {
		return from, to, err
	}
	if len(days) == 0 {
		return from, to, problem.New(problem.CodeNotFound, "The archive has no sealed day yet. A day is sealed soon after it has ended, UTC.")
	}
	from, _ = time.Parse(time.DateOnly, days[0])
	to, _ = time.Parse(time.DateOnly, days[len(days)-1])
	return from, to.AddDate(0, 0, 1), nil
}

// dayOf writes the UTC day of a moment.
func dayOf(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// until is when a day in memory is read again. A sealed day doesn't change, and one that is
// missing may be sealed soon.
func until(d *day) time.Time {
	if d == nil {
		return time.Now().Add(relookAfter)
	}
	return time.Now().Add(24 * time.Hour)
}

// day reads a day; nil if it isn't archived.
func (t *Tape) day(ctx context.Context, name string) (*day, error) {
	return t.days.Get(ctx, name, func(ctx context.Context) (*day, time.Time, error) {
		d, err := t.read(ctx, name)
		return d, until(d), err
	})
}

func (t *Tape) read(ctx context.Context, name string) (*day, error) {
	sealed, err := archive.OpenDay(ctx, t.storage, name)
	if errors.Is(err, archive.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := t.checkChain(ctx, sealed.Manifest); err != nil {
		return nil, err
	}
	return readDay(ctx, t.storage, sealed)
}

// checkChain compares the hash of the day before, if that is archived, with the one that the
// manifest names.
func (t *Tape) checkChain(ctx context.Context, m *archive.Manifest) error {
	days, err := t.Days(ctx)
	if err != nil {
		return err
	}
	i := slices.Index(days, m.Day)
	if i < 1 || m.Previous == "" {
		return nil
	}
	before, err := archive.OpenDay(ctx, t.storage, days[i-1])
	if err != nil {
		return err
	}
	if before.Hash != m.Previous {
		return fmt.Errorf("%s: it doesn't follow the manifest of %s, whose hash is another", archive.Path(m.Day, archive.ManifestName), days[i-1])
	}
	return nil
}

// digest reads a day with few of its prices; nil if it isn't archived.
func (t *Tape) digest(ctx context.Context, name string) (*day, error) {
	return t.digests.Get(ctx, name, func(ctx context.Context) (*day, time.Time, error) {
		d, err := t.day(ctx, name)
		if err != nil || d == nil {
			return nil, until(nil), err
		}
		d = d.digest()
		return d, until(d), nil
	})
}

// before reads the digests of the days before the one of a moment, oldest first.
func (t *Tape) before(ctx context.Context, at time.Time, days int) ([]*day, error) {
	var out []*day
	for i := days; i > 0; i-- {
		d, err := t.digest(ctx, dayOf(at.AddDate(0, 0, -i)))
		if err != nil {
			return nil, err
		}
		if d != nil {
			out = append(out, d)
		}
	}
	return out, nil
}
