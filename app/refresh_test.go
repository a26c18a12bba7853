package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/pulsecast/pulsecast/views/components"
)

// readAgain refreshes the live regions once, as the page does every minute.
func (b *tab) readAgain() error {
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void](`new Promise(done => {
		const live = document.querySelector('[data-hx-trigger=live]');
		live.addEventListener('htmx:afterRequest', () => setTimeout(done), {once: true});
		htmx.trigger(live, 'live');
	})`, chromedp.EvalAwaitPromise))
	return err
}

// refreshLive publishes a prediction while the first page is open. It must appear there, without
// touching anything that the visitor reads or uses.
func refreshLive(t *testing.T, browser context.Context, p *process) {
	b := openTab(t, browser, p.base)
	if wrong := b.visit("/", desktop, 200); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	key := keyOf(t, p, "harbor-pilot") // the page shows only predictions of agents with a record
	status, answer := p.call("POST", "/api/predictions", key, map[string]any{
		"title": "Will the page show this by itself?", "thesis": "It reads itself again.", "confidence": 0.9,
		"horizonAt": time.Now().AddDate(0, 1, 0).UTC(),
	})
	if status != 200 {
		t.Fatal(status, answer)
	}
	shown := func() bool {
		titles, err := b.texts("#live-latest .prediction-title")
		return err == nil && slices.Contains(titles, "Will the page show this by itself?")
	}
	read := func() {
		t.Helper()
		if err := b.readAgain(); err != nil {
			t.Fatal(err)
		}
	}
	do := func(script string) {
		t.Helper()
		if _, err := evaluate[chromedp.Void](b, script+"; undefined"); err != nil {
			t.Fatal(err)
		}
	}
	// While the focus is in the region, the region doesn't change. The counts beside it do, which
	// shows that a new page has arrived.
	do(`document.querySelector('#live-latest a').focus({preventScroll: true});
		document.querySelector('#live-counts').firstChild.textContent = 'old '; scrollTo(0, 0)`)
	awaitPage(t, p.base+"/", "Will the page show this by itself?")
	read()
	if counts, err := b.texts("#live-counts"); err != nil || strings.HasPrefix(counts[0], "old") || shown() {
		t.Errorf("with the focus in the region: counts %q, %v, shown %v", counts, err, shown())
	}
	// While the region is in sight, changes of its height wait too.
	do(`document.activeElement.blur(); window.region = document.querySelector('#live-latest');
		region.lastElementChild.append(document.createElement('hr')); region.scrollIntoView()`)
	read()
	if kept, err := evaluate[bool](b, `region.isConnected`); err != nil || !kept {
		t.Errorf("a region in sight changed its height: %v", err)
	}
	do(`scrollTo(0, 0)`)
	read()
	if !shown() {
		t.Error("the prediction did not appear")
	}
	tellTimes(t, b)
	b.visit("/markets/"+forecastMarket(t, p), desktop, 200)
	// A mark, and no other text: another text might change the height of a region, which then waits.
	do(`document.querySelector('.numbers').open = true;
		document.querySelectorAll('#live-figures .stat-value, #live-outcomes .outcome-name, #live-chart text').forEach(e => e.dataset.old = '')`)
	read()
	left, err := evaluate[string](b, `[...new Set([...document.querySelectorAll('[data-old]')].map(e => e.closest('[id^=live-]').id)),
		document.querySelector('.numbers').open].join(' ')`)
	if err != nil || left != "true" {
		t.Errorf("on the page of a market, left as they were: %s, %v", left, err)
	}
	// Half a minute is too soon, a hidden page waits, and each refresh starts a new minute.
	b.wakes(t, []wake{{30, false}, {70, true}, {70, false}, {90, false}, {140, false}}, []int{0, 0, 1, 1, 2})
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.wrong) > 0 {
		t.Error(b.wrong)
	}
}

// keyOf creates a new key of a sample agent with the command.
func keyOf(t *testing.T, p *process, handle string) string {
	t.Helper()
	cmd := command(t, nil, "agent", "rotate-key", handle)
	cmd.Env, cmd.Dir = p.cmd.Env, p.cmd.Dir
	out, err := cmd.CombinedOutput()
	key := regexp.MustCompile(`pc_[0-9A-Za-z_]+`).FindString(string(out))
	if err != nil || key == "" {
		t.Fatalf("%v: %s", err, out)
	}
	return key
}

// wake is a look at the page after some seconds.
type wake struct {
	After  int
	Hidden bool
}

// wakes checks how many times the page had refreshed itself by the end of each look.
func (b *tab) wakes(t *testing.T, looks []wake, want []int) {
	t.Helper()
	packed, err := json.Marshal(looks)
	if err != nil {
		t.Fatal(err)
	}
	got, err := evaluate[[]int](b, fmt.Sprintf(`(looks => {
		let asked = 0;
		const now = Date.now;
		const count = event => { asked++; event.preventDefault(); };
		document.addEventListener('htmx:beforeRequest', count);
		const result = looks.map(({After, Hidden}) => {
			Date.now = () => now() + 1000 * After;
			Object.defineProperty(document, 'hidden', {value: Hidden, configurable: true});
			document.dispatchEvent(new Event('visibilitychange'));
			return asked;
		});
		Date.now = now;
		document.removeEventListener('htmx:beforeRequest', count);
		return result;
	})(%s)`, packed))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("refreshes by look: got %v, %v; want %v", got, err, want)
	}
}

// awaitPage waits until a page contains words. The server caches pages for a moment.
func awaitPage(t *testing.T, address, words string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		res, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(page), words) {
			return
		}
	}
	t.Fatalf("%s never contains %q", address, words)
}

// tellTimes compares the times that the script writes with those of the server.
func tellTimes(t *testing.T, b *tab) {
	var ages []float64
	var want []string
	now := time.Now()
	for _, age := range []time.Duration{
		10 * time.Second, 50 * time.Second, 100 * time.Second, 59*time.Minute + 10*time.Second, 70 * time.Minute, 35 * time.Hour,
		40 * time.Hour, 59 * 24 * time.Hour, -100 * time.Second, -5 * time.Hour, -30 * 24 * time.Hour,
	} {
		ages = append(ages, age.Seconds())
		want = append(want, components.When{At: now.Add(-age), Now: now}.Relative())
	}
	packed, err := json.Marshal(ages)
	if err != nil {
		t.Fatal(err)
	}
	got, err := evaluate[[]string](b, fmt.Sprintf(`(ages => {
		const times = ages.map(age => Object.assign(document.createElement('time'), {dateTime: new Date(Date.now() - 1000 * age).toISOString(), textContent: '?'}));
		document.body.append(...times);
		document.dispatchEvent(new Event('visibilitychange'));
		return times.map(time => { time.remove(); return time.textContent });
	})(%s)`, packed))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("times: %q, %v; want %q", got, err, want)
	}
	// A date without a time of day stays a date.
	day, err := evaluate[string](b, `(() => {
		const day = new Date().toISOString().slice(0, 10);
		const time = Object.assign(document.createElement('time'), {dateTime: day, textContent: 'a date'});
		document.body.append(time);
		document.dispatchEvent(new Event('visibilitychange'));
		time.remove();
		return time.textContent;
	})()`)
	if err != nil || day != "a date" {
		t.Errorf("a date became %q, %v", day, err)
	}
}
