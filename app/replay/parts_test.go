package replay

import (
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"
)

// question is the number that a market has in the edge for bots of Metaculus; see /docs/metaculus.
func question(market string) string {
	n := new(big.Int).SetBytes(append([]byte{1}, market...))
	return n.Add(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(18), nil)).String()
}

const compat = "/compat/metaculus/api"

// TestProbabilityWithoutComment: a probability whose comment never came is in the report, also
// after its world was closed, and its id is the same whenever the same is sent.
func TestProbabilityWithoutComment(t *testing.T) {
	t.Parallel()
	recorded, dir := newArchive(t), t.TempDir()
	c, stop := serve(t, recorded, dir)
	run := c.makeRun(`{"name":"Alpha"}`)
	world := prefix(run.Run, writeMoment(firstDay.Add(60*time.Hour+time.Minute)))
	forecast := func() {
		status, text := c.call("POST", world+compat+"/questions/forecast/", *run.AgentKey, `[{"question":`+question("m105")+`,"probability_yes":0.62}]`)
		if status != http.StatusCreated {
			t.Fatalf("forecast: %d %s", status, text)
		}
	}
	forecast()
	stop()
	c, stop = serve(t, recorded, dir)
	first := c.report(run)
	if len(first.List) != 1 || first.List[0].Confidence != 0.62 || first.List[0].Market != "m105" {
		t.Fatalf("listed %+v", first.List)
	}
	stop()
	forgetWorlds(t, dir, run.Run)
	c, _ = serve(t, recorded, dir)
	forecast()
	if again := c.report(run); len(again.List) != 1 || again.List[0].ID != first.List[0].ID {
		t.Errorf("listed %+v, first %+v", again.List, first.List)
	}
}

// TestLargeComment: a world takes the comments that the service takes, and nothing else that large.
func TestLargeComment(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, newArchive(t), t.TempDir())
	run := c.makeRun(`{"name":"Alpha"}`)
	world := prefix(run.Run, writeMoment(firstDay.Add(60*time.Hour+time.Minute)))
	for _, x := range []struct {
		path   string
		bytes  int
		status int
	}{
		{compat + "/comments/create/", 300 << 10, http.StatusCreated},
		{compat + "/comments/create/", 600 << 10, http.StatusRequestEntityTooLarge},
		{compat + "/questions/forecast/", 300 << 10, http.StatusRequestEntityTooLarge},
		{"/api/predictions", 300 << 10, http.StatusRequestEntityTooLarge},
	} {
		body := `{"on_post":` + question("m105") + `,"text":"` + strings.Repeat("x", x.bytes) + `"}`
		if status, text := c.call("POST", world+x.path, *run.AgentKey, body); status != x.status {
			t.Errorf("%d KiB to %s: %d %.200s; want %d", x.bytes>>10, x.path, status, text, x.status)
		}
	}
}
