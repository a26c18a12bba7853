package score

import (
	"slices"
	"testing"
	"time"
)

func book(bid, ask float64) *View { return &View{bid, ask} }

func TestWorkedBounds(t *testing.T) {
	t.Parallel()
	empty := BookView(nil, at(1))
	second := BookView(at(.58), at(.62)).Opposite()
	for _, c := range []struct {
		name   string
		bounds Bounds
		p, q   float64
	}{
		{"above the prices", Bounds{Before: book(.6, .6), After: book(.65, .65)}, .7, .65},
		{"between the prices", Bounds{Before: book(.6, .6), After: book(.65, .65)}, .62, .62},
		{"below the prices", Bounds{Before: book(.6, .6), After: book(.65, .65)}, .5, .6},
		{"above the books", Bounds{Before: book(.58, .62), After: book(.63, .67)}, .7, .67},
		{"inside a spread", Bounds{Before: book(.58, .62), After: book(.63, .67)}, .64, .64},
		{"below the books", Bounds{Before: book(.58, .62), After: book(.63, .67)}, .5, .58},
		{"second outcome", Bounds{Before: &second, After: &second}, .5, .42},
		{"no bid, ask 1, p 0", Bounds{Before: &empty, After: &empty}, 0, 0},
		{"no bid, ask 1, p .37", Bounds{Before: &empty, After: &empty}, .37, .37},
		{"no bid, ask 1, p 1", Bounds{Before: &empty, After: &empty}, 1, 1},
		{"a repeat", Bounds{Before: book(.6, .6), After: book(.6, .6), Previous: at(.7)}, .7, .7},
		{"beyond a repeat", Bounds{Before: book(.6, .6), After: book(.6, .6), Previous: at(.7)}, .8, .7},
		{"towards a repeat", Bounds{Before: book(.6, .6), After: book(.6, .6), Previous: at(.7)}, .65, .65},
		{"away from a repeat", Bounds{Before: book(.6, .6), After: book(.6, .6), Previous: at(.7)}, .5, .6},
		{"inside the median book", Bounds{Before: book(.3, .31), After: book(.3, .31), Hour: book(.5, .6)}, .55, .55},
		{"beyond the median book", Bounds{Before: book(.3, .31), After: book(.3, .31), Hour: book(.5, .6)}, .7, .6},
		{"without a view before", Bounds{After: book(.58, .62)}, .7, .62},
	} {
		q, ok := c.bounds.Clamp(c.p)
		if q != c.q || !ok {
			t.Errorf("%s: got q = %v, %v, want %v", c.name, q, ok, c.q)
		}
		if q == c.p && (Edge(c.p, q, 1) != 0 || Stake(c.p, q) != 0 || Spread(c.p, q) != 0) {
			t.Errorf("%s: %v earns or risks points at its own baseline", c.name, c.p)
		}
	}
	if second != (View{.38, .42}) {
		t.Errorf("view of the second outcome = %v, want {0.38 0.42}", second)
	}
	if q, ok := (Bounds{Before: book(.6, .6), Previous: at(.5), Hour: book(.4, .6)}).Clamp(.7); ok || q != 0 {
		t.Errorf("got a baseline of %v without a view after", q)
	}
}

func TestBookView(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bid, ask *float64
		want     View
	}{
		{at(.58), at(.62), View{.58, .62}}, {nil, nil, View{0, 1}}, {nil, at(.3), View{0, .3}},
		{at(.7), nil, View{.7, 1}}, {at(.62), at(.58), View{.58, .62}}, {at(-1), at(7), View{0, 1}},
	} {
		v := BookView(c.bid, c.ask)
		if v != c.want || v.Opposite().Opposite() != v {
			t.Errorf("got view %v, want %v; the opposite of its opposite is %v", v, c.want, v.Opposite().Opposite())
		}
	}
}

func TestMedianView(t *testing.T) {
	t.Parallel()
	published := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	quote := func(minutesBefore float64, bid, ask float64) Quote {
		return Quote{published.Add(-time.Duration(minutesBefore * float64(time.Minute))), View{bid, ask}}
	}
	for _, c := range []struct {
		name   string
		quotes []Quote
		want   View
		ok     bool
	}{
		{"none", nil, View{}, false},
		{"only at publication", []Quote{quote(0, .5, .6)}, View{}, false},
		{"quoted before the hour", []Quote{quote(300, .5, .6)}, View{.5, .6}, true},
		{"replaced before the hour", []Quote{quote(300, .1, .9), quote(61, .5, .6)}, View{.5, .6}, true},
		{"young market", []Quote{quote(9, .5, .6), quote(4, .7, .8)}, View{.5, .6}, true},
		{"quoted for half an hour", []Quote{quote(90, .2, .8), quote(30, .49, .5)}, View{.2, .8}, true},
		{"quoted for more than half an hour", []Quote{quote(90, .2, .8), quote(30.1, .49, .5)}, View{.49, .5}, true},
		{"different medians of bid and ask", []Quote{quote(60, .1, .5), quote(45, .2, .9), quote(25, .3, .6), quote(10, .4, .7)},
			View{.2, .7}, true},
		{"after publication", []Quote{quote(60, .2, .3), quote(-1, .8, .9)}, View{.2, .3}, true},
	} {
		before := slices.Clone(c.quotes)
		if got, ok := MedianView(c.quotes, published); got != c.want || ok != c.ok {
			t.Errorf("%s: %v, %v, want %v", c.name, got, ok, c.want)
		}
		if !slices.Equal(before, c.quotes) {
			t.Errorf("%s: the quotes were modified", c.name)
		}
	}
}

// TestBooksKeepReportsHonest checks that no confidence has a higher expected edge than the honest
// one, and that no confidence inside the bounds earns or risks points. It does for books what
// TestHonestyIsOptimal does for prices.
func TestBooksKeepReportsHonest(t *testing.T) {
	t.Parallel()
	r := source(51)
	view := func() *View { v := BookView(at(price(r)), at(price(r))); return &v }
	for range 5_000 {
		b := Bounds{Before: view(), After: view(), Previous: maybe(r, confidence(r)), Hour: view()}
		interval, _ := b.Interval()
		inside := interval.Bid + r.Float64()*(interval.Ask-interval.Bid)
		if q, _ := b.Clamp(inside); Bet(inside, q, result(r), 0) != (Cluster{}) {
			t.Fatalf("%v inside %v earns or risks points", inside, interval)
		}
		belief, report := confidence(r), confidence(r)
		value := func(p float64) float64 {
			q, _ := b.Clamp(p)
			return belief*float64(Edge(p, q, 1)) + (1-belief)*float64(Edge(p, q, 0))
		}
		if value(report) > value(belief)+1 {
			t.Fatalf("belief %v earns %v, reporting %v earns %v", belief, value(belief), report, value(report))
		}
	}
}
