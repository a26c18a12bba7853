package replay

import (
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"
)

// question returns the number of a market in the interface for Metaculus bots; see /docs/metaculus.
func question(market string) string {
	n := new(big.Int).SetBytes(append([]byte{1}, market...))
	return n.Add(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(18), nil)).String()
}

const compat = "/compat/metaculus/api"

// TestProbabilityWithoutComment checks that a probability without a comment is in the report, even
// after its world was closed, and that the same request always gives the same id.
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
		t.Errorf("got list %+v, want %+v", again.List, first.List)
	}
}

// TestLargeComment checks that a world accepts comments of the size that the service accepts, and
// no other body of that size.
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
			t.Errorf("%d KiB to %s: got status %d, %.200s; want %d", x.bytes>>10, x.path, status, text, x.status)
		}
	}
}
