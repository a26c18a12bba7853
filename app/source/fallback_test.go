package source_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/source"
)

// member answers with its error if it has one, else with its name.
type member struct {
	name  string
	err   error
	reads int
	every time.Duration
}

func (m *member) Read(context.Context) (source.News, error) {
	m.reads++
	if m.err != nil {
		return source.News{}, m.err
	}
	return source.News{Source: m.name, Items: []news.Item{{ID: m.name}}}, nil
}

func (m *member) Interval() time.Duration { return m.every }

func TestChain(t *testing.T) {
	t.Parallel()
	fail := func(reason string, after time.Duration) error {
		return fmt.Errorf("wrapped: %w", &source.Error{Reason: reason, RetryAfter: after})
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	first, second := &member{name: "a", every: time.Second}, &member{name: "b", every: time.Minute}
	c := source.NewFallback(nil, func() time.Time { return now }, source.Member{Name: "a", Source: first}, source.Member{Name: "b", Source: second})
	if c.Interval() != time.Second || !c.Status().At.IsZero() {
		t.Error("before the first read, the interval isn't that of the first member")
	}

	got, err := c.Read(t.Context())
	if err != nil || got.Source != "a" || second.reads != 0 || len(c.Status().Failures) != 0 {
		t.Errorf("both answer: got %+v, %v", got, err)
	}

	first.err = fail("http_429", 5*time.Minute)
	got, err = c.Read(t.Context())
	status := c.Status()
	if err != nil || got.Source != "b" || status.Answered != "b" || !status.At.Equal(now) || c.Interval() != time.Minute {
		t.Errorf("first fails: got %+v, %v, %+v", got, err, status)
	}
	if want := (source.Failure{Name: "a", Reason: "http_429", RetryAfter: 5 * time.Minute}); len(status.Failures) != 1 || status.Failures[0] != want {
		t.Errorf("failures %+v", status.Failures)
	}

	second.err = fail("parse", 0)
	_, err = c.Read(t.Context())
	if source.Reason(err) != "http_429" || len(c.Status().Failures) != 2 || c.Status().Answered != "" {
		t.Errorf("both fail: got %v, %+v", err, c.Status())
	}
	if se, _ := errors.AsType[*source.Error](err); se.RetryAfter != 0 {
		t.Errorf("got RetryAfter %v, want 0 because one member may be asked at once", se.RetryAfter)
	}
	second.err = fail("timeout", time.Minute)
	_, err = c.Read(t.Context())
	if se, _ := errors.AsType[*source.Error](err); se.RetryAfter != time.Minute {
		t.Errorf("got RetryAfter %v, want the shorter one", se.RetryAfter)
	}

	first.err = nil
	if got, err = c.Read(t.Context()); err != nil || got.Source != "a" {
		t.Errorf("first answers again: got %+v, %v", got, err)
	}
}

func TestChainEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	first, second := &member{err: context.Canceled}, &member{}
	c := source.NewFallback(nil, nil, source.Member{Name: "a", Source: first}, source.Member{Name: "b", Source: second})
	if _, err := c.Read(ctx); !errors.Is(err, context.Canceled) || second.reads != 0 {
		t.Errorf("got %v after %d reads of the second member", err, second.reads)
	}
	if _, err := source.NewFallback(nil, nil).Read(t.Context()); source.Reason(err) != "empty" {
		t.Errorf("without members: got %v", err)
	}
}

func TestArrange(t *testing.T) {
	t.Parallel()
	got := source.Arrange([]news.Item{{ID: "1", Community: "x"}, {ID: "2", Community: "y"}, {ID: "1", Community: "y"}, {ID: "3", Community: "x"}})
	if len(got) != 3 || got[0].Position != 0 || got[1].Position != 0 || got[2].Position != 1 {
		t.Errorf("%+v", got)
	}
}
