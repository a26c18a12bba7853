package replay

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, recordedArchive(t), t.TempDir())
	plan := func(body string) []Pair { return read[planned](c, "POST", "/r/plan", "", body).Pairs }
	one, again, other := plan(`{"n":20,"seed":1}`), plan(`{"n":20,"seed":1}`), plan(`{"n":20,"seed":2}`)
	if len(one) != 20 || !reflect.DeepEqual(one, again) || reflect.DeepEqual(one, other) {
		t.Errorf("got plans of %d, %d and %d pairs; want 20 in the first, equal to the second only", len(one), len(again), len(other))
	}
	seen, categories := map[string]int{}, map[int]int{}
	for _, p := range one {
		var i int
		if _, err := fmt.Sscanf(p.Market, "m%d", &i); err != nil {
			t.Fatal(err)
		}
		i -= 100
		seen[p.Market]++
		categories[i%3]++
		price := yes(i, p.At.Add(-time.Second))
		if staysOpen(i) || !p.At.Before(closing(i)) || price < plannedLow || price > plannedHigh {
			t.Errorf("pair %+v at price %g breaks the rules of a plan", p, price)
		}
	}
	if len(seen) < 7 || categories[0] < 4 || categories[1] < 4 || categories[2] < 4 {
		t.Errorf("pairs by market %v, by category %v: want a more even spread", seen, categories)
	}
	if all := plan(`{"n":5000,"seed":1,"filter":{"category":"sports"}}`); len(all) == 0 || len(all) > 24 {
		t.Errorf("got %d pairs of sports, want 1 to 24", len(all))
	}
	pairs, _ := json.Marshal(one[:1])
	// A plan may be large, also if the server asks for no token.
	run := c.makeRun(`{"name":"Alpha","pairs":` + string(pairs) + strings.Repeat(" ", 300<<10) + `}`)
	tasks := read[struct {
		Assignments []struct{ Market struct{ ID string } }
	}](c, "GET", prefix(run.Run, writeMoment(one[0].At))+"/api/assignments", "", "")
	if len(tasks.Assignments) != 1 || tasks.Assignments[0].Market.ID != one[0].Market {
		t.Errorf("assignments %+v, want %s", tasks, one[0].Market)
	}
}
