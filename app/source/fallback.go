package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// Member is one source of a Fallback. Name is the News.Source of its readings.
type Member struct {
	Name   string
	Source NewsSource
}

// Fallback is a NewsSource that asks its members in order of preference until one answers. Every read starts
// again with the first member, so a better source is used as soon as it works again.
type Fallback struct {
	members []Member
	log     *slog.Logger
	// answered is the index of the member that answered the last read, or 0 if none did.
	answered atomic.Int32
}

var _ NewsSource = (*Fallback)(nil)

// NewFallback returns a Fallback of the members, the preferred one first. A nil logger discards messages.
func NewFallback(log *slog.Logger, members ...Member) *Fallback {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Fallback{members: members, log: log}
}

// Read asks the members in order until one answers. Fallback has the errors of those before it. If all fail, the error
// has the Reason of the first. Its RetryAfter is the shortest of the members' pauses, or 0 if a member asked for none.
func (f *Fallback) Read(ctx context.Context) (News, error) {
	var errs []error
	for i, m := range f.members {
		got, err := m.Source.Read(ctx)
		if err == nil {
			f.answered.Store(int32(i))
			got.Fallback = errors.Join(append(errs, got.Fallback)...)
			return got, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", m.Name, err))
		f.log.Warn("news source failed", "source", m.Name, "reason", Reason(err), "error", err)
		if ctx.Err() != nil {
			break
		}
	}
	f.answered.Store(0)
	return News{}, exhausted(errs)
}

func exhausted(errs []error) *Error {
	if len(errs) == 0 {
		return &Error{Reason: "empty", Err: errors.New("no news source is configured")}
	}
	pause := RetryAfter(errs[0])
	for _, err := range errs[1:] {
		pause = min(pause, RetryAfter(err))
	}
	return &Error{Reason: Reason(errs[0]), RetryAfter: pause, Err: errors.Join(errs...)}
}

// Interval returns the interval of the member that answered the last read. If none did, it returns that of the
// first member.
func (f *Fallback) Interval() time.Duration {
	if len(f.members) == 0 {
		return time.Minute
	}
	return f.members[f.answered.Load()].Source.Interval()
}
