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

	fallback error
}

func (m *member) Read(context.Context) (source.News, error) {
	m.reads++
	if m.err != nil {
		return source.News{}, m.err
	}
	return source.News{Source: m.name, Items: []news.Item{{ID: m.name}}, Fallback: m.fallback}, nil
}

func (m *member) Interval() time.Duration { return m.every }

func TestFallback(t *testing.T) {
	t.Parallel()
	fail := func(reason string, after time.Duration) error {
		return fmt.Errorf("wrapped: %w", &source.Error{Reason: reason, RetryAfter: after})
	}
	first, second := &member{name: "a", every: time.Second}, &member{name: "b", every: time.Minute}
	c := source.NewFallback(nil, source.Member{Name: "a", Source: first}, source.Member{Name: "b", Source: second})
	if c.Interval() != time.Second {
		t.Error("before the first read, the interval isn't that of the first member")
	}

	got, err := c.Read(t.Context())
	if err != nil || got.Source != "a" || got.Fallback != nil || second.reads != 0 || c.Interval() != time.Second {
		t.Errorf("both answer: got %+v, %v", got, err)
	}

	first.err = fail("http_429", 5*time.Minute)
	got, err = c.Read(t.Context())
	if err != nil || got.Source != "b" || c.Interval() != time.Minute || source.Reason(got.Fallback) != "http_429" {
		t.Errorf("first fails: got %+v, %v, interval %v", got, err, c.Interval())
	}
	second.fallback = errors.New("of the second")
	if got, err = c.Read(t.Context()); err != nil || !errors.Is(got.Fallback, second.fallback) || !errors.Is(got.Fallback, first.err) {
		t.Errorf("a member that has its own fallback: got %v, %v", got.Fallback, err)
	}

	second.err = fail("parse", 0)
	_, err = c.Read(t.Context())
	if source.Reason(err) != "http_429" || c.Interval() != time.Second {
		t.Errorf("both fail: got %v, interval %v", err, c.Interval())
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

func TestFallbackEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	first, second := &member{err: context.Canceled}, &member{}
	c := source.NewFallback(nil, source.Member{Name: "a", Source: first}, source.Member{Name: "b", Source: second})
	if _, err := c.Read(ctx); !errors.Is(err, context.Canceled) || second.reads != 0 {
		t.Errorf("got %v after %d reads of the second member", err, second.reads)
	}
	none := source.NewFallback(nil)
	if _, err := none.Read(t.Context()); source.Reason(err) != "empty" || none.Interval() != time.Minute {
		t.Errorf("without members: got %v, interval %v", err, none.Interval())
	}
}

func TestArrange(t *testing.T) {
	t.Parallel()
	got := source.Arrange([]news.Item{{ID: "1", Community: "x"}, {ID: "2", Community: "y"}, {ID: "1", Community: "y"}, {ID: "3", Community: "x"}})
	if len(got) != 3 || got[0].Position != 0 || got[1].Position != 0 || got[2].Position != 1 {
		t.Errorf("%+v", got)
	}
}
