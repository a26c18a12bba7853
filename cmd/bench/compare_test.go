package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestCompareTakesTurns checks that every contender is measured once per round and that rounds
// start with different contenders.
func TestCompareTakesTurns(t *testing.T) {
	t.Parallel()
	b := &bench{options: options{Rounds: 3}}
	var order []string
	contenders := make([]contender, 3)
	for i, name := range []string{"a", "b", "c"} {
		contenders[i] = contender{name, func(context.Context) (sample, error) {
			order = append(order, name)
			return sample{rate: float64(len(order))}, nil
		}}
	}
	all, err := b.compare(t.Context(), contenders)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(order, ""); got != "abcbcacab" {
		t.Errorf("got the order %s", got)
	}
	if got := all.rates("b").values; !slices.Equal(got, []float64{2, 4, 9}) {
		t.Errorf("rates of b: %v", got)
	}
	broken := contender{"broken", func(context.Context) (sample, error) { return sample{}, errors.New("no") }}
	if _, err := b.compare(t.Context(), []contender{broken}); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("got error %v for a failed measurement", err)
	}
}
