package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/memo"
	"github.com/pulsecast/pulsecast/app/problem"
)

const (
	// lookBack is how many days of news, events and prices before T a world knows.
	lookBack = 7
	// unseenFor is how long after its last reading an open market stays in a world.
	unseenFor = 72 * time.Hour
	// keptDays is how many complete days are kept in memory, and keptDigests how many digests of
	// days.
	keptDays    = 2
	keptDigests = 4 * (lookBack + 1)
	// readTimeout is the maximum time for reading a day, which may come over a network.
	readTimeout = 2 * time.Minute
)

// Tape reads the days of an archive and keeps a few of them in memory. Its methods are safe for
// concurrent use.
type Tape struct {
	storage archive.Storage
	days    *memo.Cache[string, *day]
	digests *memo.Cache[string, *day]

	mu     sync.Mutex
	sealed []string // the days of the archive, in order; nil until listed
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

// relookAfter is how long the list of days is kept. An archive grows once a day.
const relookAfter = time.Minute

// Days lists the sealed days in order.
func (t *Tape) Days(ctx context.Context) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed != nil && time.Since(t.looked) < relookAfter {
		return t.sealed, nil
	}
	days, err := archive.StoredDays(ctx, t.storage)
	if err != nil {
		return nil, err
	}
	t.sealed, t.looked = days, time.Now()
	return days, nil
}

// Span returns the start of the first archived day and the end of the last one.
func (t *Tape) Span(ctx context.Context) (from, to time.Time, err error) {
	days, err := t.Days(ctx)
	if err != nil {
		return from, to, err
	}
	if len(days) == 0 {
		return from, to, problem.New(problem.CodeNotFound, "The archive has no sealed day yet. A day is sealed soon after it has ended, UTC.")
	}
	if from, _, err = archive.Bounds(days[0]); err == nil {
		_, to, err = archive.Bounds(days[len(days)-1])
	}
	return from, to, err
}

// until returns when a day in memory expires. A sealed day doesn't change. A missing one may be
// sealed soon.
func until(d *day) time.Time {
	if d == nil {
		return time.Now().Add(relookAfter)
	}
	return time.Now().Add(24 * time.Hour)
}

// day reads a day. It returns nil if the day isn't archived.
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

// checkChain checks that the manifest names the hash of the day before, if that day is archived.
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
		return fmt.Errorf("%s: it doesn't follow the manifest of %s, which has another hash", archive.Path(m.Day, archive.ManifestName), days[i-1])
	}
	return nil
}

// digest reads the digest of a day. It returns nil if the day isn't archived.
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

// before reads the digests of the given number of days before the day of a moment, oldest first.
func (t *Tape) before(ctx context.Context, at time.Time, days int) ([]*day, error) {
	var out []*day
	for i := days; i > 0; i-- {
		d, err := t.digest(ctx, archive.DayOf(at.AddDate(0, 0, -i)))
		if err != nil {
			return nil, err
		}
		if d != nil {
			out = append(out, d)
		}
	}
	return out, nil
}
