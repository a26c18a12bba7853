package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Member is one source of a Fallback. Name is the News.Source of its readings.
type Member struct {
	Name   string
	Source NewsSource
}

// Failure says why one member failed in the last read.
type Failure struct {
	Name       string
	Reason     string // the Reason of its Error
	RetryAfter time.Duration
}

// FallbackStatus is the result of the last read, for health.
type FallbackStatus struct {
	Answered string    // the member that answered; empty if none did
	Failures []Failure // of the members asked before it, in order
	At       time.Time // when the read ended; zero before the first read
}

// Fallback is a NewsSource that asks its members in order of preference until one answers. Every read starts
// again with the first member, so a better source is used as soon as it works again.
type Fallback struct {
	members []Member
	log     *slog.Logger
	now     func() time.Time

	mu     sync.Mutex
	status FallbackStatus
}

var _ NewsSource = (*Fallback)(nil)

// NewFallback returns a Fallback of the members, the preferred one first. A nil logger discards messages. A nil
// now uses the system's clock.
func NewFallback(log *slog.Logger, now func() time.Time, members ...Member) *Fallback {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if now == nil {
		now = time.Now
	}
	return &Fallback{members: members, log: log, now: now}
}

// Read asks the members in order until one answers. If all fail, the error has the Reason of the first. Its
// RetryAfter is the shortest of the members' pauses, or 0 if a member asked for none.
func (f *Fallback) Read(ctx context.Context) (News, error) {
	var status FallbackStatus
	var errs []error
	for _, m := range f.members {
		got, err := m.Source.Read(ctx)
		if err == nil {
			status.Answered = m.Name
			f.settle(status)
			return got, nil
		}
		failure := Failure{Name: m.Name, Reason: Reason(err)}
		if se, ok := errors.AsType[*Error](err); ok {
			failure.RetryAfter = se.RetryAfter
		}
		status.Failures = append(status.Failures, failure)
		errs = append(errs, fmt.Errorf("%s: %w", m.Name, err))
		f.log.Warn("news source failed", "source", m.Name, "reason", failure.Reason, "error", err)
		if ctx.Err() != nil {
			break
		}
	}
	f.settle(status)
	return News{}, exhausted(status.Failures, errs)
}

func exhausted(failures []Failure, errs []error) *Error {
	if len(failures) == 0 {
		return &Error{Reason: "empty", Err: errors.New("no news source is configured")}
	}
	pause := failures[0].RetryAfter
	for _, f := range failures {
		pause = min(pause, f.RetryAfter)
	}
	return &Error{Reason: failures[0].Reason, RetryAfter: pause, Err: errors.Join(errs...)}
}

func (f *Fallback) settle(status FallbackStatus) {
	status.At = f.now().UTC()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status = status
}

// Status returns the result of the last read.
func (f *Fallback) Status() FallbackStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

// Interval returns the interval of the member that answered last. If there is none, it returns that of the
// first member.
func (f *Fallback) Interval() time.Duration {
	answered := f.Status().Answered
	for _, m := range f.members {
		if m.Name == answered {
			return m.Source.Interval()
		}
	}
	if len(f.members) == 0 {
		return time.Minute
	}
	return f.members[0].Source.Interval()
}
