package components

import (
	"strings"
	"testing"
	"time"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{Percent(0.71), "71 %"}, {Percent(0), "0 %"}, {Percent(1), "100 %"}, {Percent(0.004), "0.4 %"}, {Percent(0.996), "99.6 %"}, {Percent(0.9996), ">99.9 %"}, {Percent(0.0004), "<0.1 %"},
		{ExactPercent(0.125), "12.5 %"}, {ExactPercent(0.5573), "55.73 %"},
		{Fraction(0.7), "0.70"}, {Fraction(0.655), "0.655"}, {Fraction(1), "1.00"},
		{Signed(0.94, 1), "+0.9"}, {Signed(-0.86, 1), "−0.9"}, {Signed(-0.04, 1), "0.0"}, {Signed(0, 1), "0.0"},
		{Points(7), "+7"}, {Points(-3.25), "−3.25"}, {Points(0.001), "0"}, {Points(-0.001), "0"},
		{Count(1234567), "1,234,567"}, {Count(-1000), "−1,000"}, {Count(7), "7"},
		{Plural(1, "event", "events"), "1 event"}, {Plural(1200, "event", "events"), "1,200 events"},
		{Dollars(940), "$940"}, {Dollars(12_300), "$12.3k"}, {Dollars(999_960), "$1M"}, {Dollars(4_120_000), "$4.1M"},
	} {
		if got := strings.ReplaceAll(c.got, unbreakable, " "); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func at(day int) time.Time { return time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC) }

func TestRelative(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for want, at := range map[string]time.Time{
		"just now": now.Add(-20 * time.Second), "in a moment": now.Add(20 * time.Second), "1 minute ago": now.Add(-50 * time.Second), "59 minutes ago": now.Add(-59 * time.Minute),
		"1 hour ago": now.Add(-70 * time.Minute), "in 24 hours": now.Add(24 * time.Hour), "in 2 days": now.Add(40 * time.Hour),
		"60 days ago": now.AddDate(0, 0, -60), "1 Aug 2026": time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got := (When{At: at, Now: now}).Relative(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestScale(t *testing.T) {
	t.Parallel()
	s := EstimateScale([]Estimate{{Skill: 0.4, Range: &Range{0.5, -3.9, 4.6}}, {Skill: 1}})
	if !s.Holds(-3.9) || !s.Holds(4.6) || !s.Holds(0) || s.Low != -4 || s.High != 6 {
		t.Errorf("%+v", s)
	}
	if s.X(0) != "40%" || s.X(99) != "100%" || s.X(-99) != "0%" {
		t.Errorf("0 at %s, 99 at %s, -99 at %s", s.X(0), s.X(99), s.X(-99))
	}
	if empty := EstimateScale(nil); empty.Low != -1 || empty.High != 1 {
		t.Errorf("of nothing: %+v", empty)
	}
	if p := probabilityScale(0.005, 0.02); p.Low < 0 || p.High > 1 || p.High-p.Low < 0.1 || len(p.Ticks) < 3 {
		t.Errorf("near zero: %+v", p)
	}
}

func TestAddedOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p    Prediction
		want string
	}{
		{Prediction{Title: "Will it rain?", Outcome: "Yes"}, ""},
		{Prediction{Title: "Will it rain?", Outcome: "No"}, "No"},
		{Prediction{Title: "Will it rain? — No", Outcome: "No"}, ""},
		{Prediction{Title: "Will it rain? — No", Outcome: "No", Hidden: true}, "No"},
		{Prediction{Title: "Will it rain?"}, ""},
		{Prediction{Title: "Lakers vs. Celtics", Outcome: "Celtics"}, "Celtics"},
	} {
		if got := c.p.AddedOutcome(); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.p, got, c.want)
		}
	}
}
