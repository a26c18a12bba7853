package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Member is one source of a Fallback; its name is the News.Source it answers with.
type Member struct {
	Name   string
	Source NewsSource
}

// Failure is why one member did not answer the last read.
type Failure struct {
	Name       string
	Reason     string // the fixed word of its Error
	RetryAfter time.Duration
}

// FallbackStatus tells how the last read went, for the health of the sources.
type FallbackStatus struct {
	Answered string    // the member that answered; empty when none did
	Failures []Failure // of the members asked before it, in order
	At       time.Time // when the read ended; zero before the first
}

// Fallback is a NewsSource that asks its members in order of preference and answers
// with the first that can. Every read begins with the first member again, so a
// better source is used as soon as it is back.
type Fallback struct {
	members []Member
	log     *slog.Logger
	now     func() time.Time

	mu     sync.Mutex
	status FallbackStatus
}

var _ NewsSource = (*Fallback)(nil)

// NewFallback makes a Fallback of the members, the preferred one first. A nil logger
// discards, a nil now is the system's clock.
func NewFallback(log *slog.Logger, now func() time.Time, members ...Member) *Fallback {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if now == nil {
		now = time.Now
	}
	return &Fallback{members: members, log: log, now: now}
}

// Read asks the members in turn. When all fail, the error carries the Reason of
// the first, and as RetryAfter the shortest pause, if every member asked for one.
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

// Status tells how the last read went.
func (f *Fallback) Status() FallbackStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

// Interval is that of the member which answered last, else of the first.
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
