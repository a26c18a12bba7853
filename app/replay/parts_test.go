package replay

import (
	"errors"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
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
	recorded, dir := recordedArchive(t), t.TempDir()
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
	c, _ := serve(t, recordedArchive(t), t.TempDir())
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

// TestReportWhileWorldsClose checks that a report doesn't depend on the files of worlds that only answered reads. Such a
// file is deleted when its world is closed, which the report itself can cause.
func TestReportWhileWorldsClose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, _ := serve(t, recordedArchive(t), dir)
	run := c.makeRun(`{"name":"Alpha"}`)
	at := func(i int) string {
		return prefix(run.Run, writeMoment(firstDay.Add(60*time.Hour+time.Duration(i)*time.Minute)))
	}
	status, text := c.call("POST", at(0)+compat+"/questions/forecast/", *run.AgentKey, `[{"question":`+question("m105")+`,"probability_yes":0.62}]`)
	if status != http.StatusCreated {
		t.Fatalf("forecast: %d %s", status, text)
	}
	for i := 1; i <= openWorlds; i++ { // the last one closes the world of the forecast
		if status, text := c.call("GET", at(i)+"/api/intelligence/markets/m105", *run.AgentKey, ""); status != http.StatusOK {
			t.Fatalf("read: %d %s", status, text)
		}
	}
	for range 2 {
		if r := c.report(run); len(r.List) != 1 || r.List[0].Confidence != 0.62 {
			t.Errorf("listed %+v, want the forecast", r.List)
		}
	}
	worlds := filepath.Join(dir, "runs", run.Run, "worlds")
	if err := os.Symlink(filepath.Join(dir, "gone"), filepath.Join(worlds, "deleted.db")); err != nil { // listed, but can't be opened
		t.Fatal(err)
	}
	if err := copyFile(filepath.Join(dir, "template.db"), filepath.Join(worlds, "unfilled.db")); err != nil {
		t.Fatal(err)
	}
	if r := c.report(run); len(r.List) != 1 {
		t.Errorf("listed %+v beside a deleted and an unfilled world, want the forecast", r.List)
	}
	if _, err := os.Stat(filepath.Join(dir, "gone")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a deleted file was made again (error %v)", err)
	}
}
