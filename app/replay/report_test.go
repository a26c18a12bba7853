package replay

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// draft is a prediction of the test agent. It depends only on the market and the moment.
type draft struct {
	market int
	at     time.Time
	p      float64
}

func drafts() (list []draft) {
	for i := range recordedMarkets {
		for k := range 3 {
			at := firstDay.Add(time.Duration(5+11*k+i)*time.Hour + 7*time.Minute + time.Duration(k)*time.Second)
			list = append(list, draft{i, at, float64(1+(i*7+k*3)%9) / 10})
		}
	}
	return list
}

func (f draft) body() string {
	return fmt.Sprintf(`{"marketId":%q,"confidence":%g,"thesis":"As I see it."}`, marketID(f.market), f.p)
}

// publish publishes a draft in a run.
func (c *client) publish(run madeRun, f draft) publishedAnswer {
	c.t.Helper()
	return read[publishedAnswer](c, "POST", prefix(run.Run, writeMoment(f.at))+"/api/predictions", *run.AgentKey, f.body())
}

func (c *client) report(run madeRun) Report {
	c.t.Helper()
	return read[Report](c, "GET", "/r/"+run.Run+"/report", run.OperatorToken, "")
}

// TestReport checks the report of a run, and that the same run gets the same ids and the same report if it publishes
// in parallel and in another order, even with a restart in between.
func TestReport(t *testing.T) {
	t.Parallel()
	recorded, dir := recordedArchive(t), t.TempDir()
	c, stop := serve(t, recorded, dir)
	cutoff := closing(4).Add(-time.Hour)
	list, ids := drafts(), map[draft]string{}
	pairs := fmt.Sprintf(`[{"market":%q,"at":%q},{"market":%q,"at":%q},{"market":%q,"at":%q}]`, // nothing is published on the last two
		marketID(0), writeMoment(list[0].at), marketID(1), writeMoment(list[0].at), marketID(0), writeMoment(list[0].at.Add(time.Minute)))
	made := c.makeRun(`{"name":"Alpha","model":"m-1","modelCutoff":"` + writeMoment(cutoff) + `","openWeb":"yes","pairs":` + pairs + `}`)
	for _, f := range list {
		ids[f] = c.publish(made, f).Prediction.ID
	}
	r := c.report(made)
	settled := 0
	for _, f := range r.List {
		if f.Status == "resolved" {
			settled++
			if f.Baseline == nil || f.Edge == nil || f.Result == nil {
				t.Errorf("resolved prediction without scores: %+v", f)
			}
		}
	}
	if want := 3 * (recordedMarkets - 3); settled != want || int(r.Predictions.Resolved) != want || len(r.List) != len(list) || r.Predictions.NoBaseline != 0 || r.Predictions.Pairs != 3 || r.Predictions.PairsPublished != 1 {
		t.Errorf("got %d resolved of %d, want %d, with one of 3 pairs: %+v", settled, len(r.List), want, r.Predictions)
	}
	if r.Overall.Events != 5 || r.Overall.Edge == nil || r.Overall.Odds == nil || len(r.Categories) != 3 || len(r.Horizons) == 0 || len(r.History) == 0 {
		t.Errorf("report %+v", r)
	}
	if r.Before == nil || r.Before.Events != 2 || r.After.Events != 3 {
		t.Errorf("before the cut-off %+v, after %+v", r.Before, r.After)
	}
	text := strings.Join(r.Warnings, "\n")
	for _, says := range []string{"2 events were decided up to the declared cut-off", "could search the live web", "nothing on 2 of 3 pairs", "With fewer than 30"} {
		if !strings.Contains(text, says) {
			t.Errorf("no warning contains %q:\n%s", says, text)
		}
	}
	status, page := c.call("GET", "/r/"+made.Run+"/report?token="+made.OperatorToken, "", "", "Accept", "text/html")
	for _, says := range []string{"Calibration", "Before and after the model", "could search the live web", "By category", "Will 3 happen?"} {
		if status != http.StatusOK || !strings.Contains(page, says) {
			t.Errorf("page: got status %d, or no text %q", status, says)
		}
	}
	if strings.Contains(page, `href="/predictions/`) || strings.Contains(page, `href="/markets`) {
		t.Error("the page has links out of the replay")
	}

	// The same run starts over without its worlds.
	stop()
	forgetWorlds(t, dir, made.Run)
	c, stop = serve(t, recorded, dir)
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	half := len(list) / 2
	publishTogether(c, made, list[:half], ids)
	stop()
	c, _ = serve(t, recorded, dir)
	publishTogether(c, made, list[half/2:], ids) // repeats some publications
	if again := c.report(made); !reflect.DeepEqual(again, r) {
		t.Errorf("got report\n%+v\nwant, as in the first order\n%+v", again, r)
	}

	c.makeRun(`{"name":"alpha"}`)
	if again := c.report(made); again.RunsOnSameDays != 2 || !strings.Contains(strings.Join(again.Warnings, ""), "one of 2 runs") {
		t.Errorf("got %d runs on the same days, want 2 and a warning", again.RunsOnSameDays)
	}
}

// publishTogether publishes drafts in parallel and compares their ids.
func publishTogether(c *client, run madeRun, list []draft, ids map[draft]string) {
	var all sync.WaitGroup
	for _, f := range list {
		all.Go(func() {
			status, text := c.call("POST", prefix(run.Run, writeMoment(f.at))+"/api/predictions", *run.AgentKey, f.body())
			if status != http.StatusOK || !strings.Contains(text, ids[f]) {
				c.t.Errorf("%s at %s: got status %d, %s; want id %s", marketID(f.market), writeMoment(f.at), status, text, ids[f])
			}
		})
	}
	all.Wait()
}
