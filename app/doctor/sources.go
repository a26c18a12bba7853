package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/fetch"
	"github.com/pulsecast/pulsecast/app/source/gdelt"
	"github.com/pulsecast/pulsecast/app/source/hackernews"
	"github.com/pulsecast/pulsecast/app/source/polymarket"
	"github.com/pulsecast/pulsecast/app/source/reddit"
	"github.com/pulsecast/pulsecast/app/source/upstream"
)

// upstreamCheck is one small read of a source.
type upstreamCheck struct {
	name, setting string
	news          bool // one working news source is enough
	optional      bool
	read          func(ctx context.Context) (count int, err error)

	count int
	err   error
}

func (d *doctor) sources(ctx context.Context) {
	checks := d.upstreamChecks()
	var wg sync.WaitGroup
	for i := range checks {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, checkTimeout)
			defer cancel()
			checks[i].count, checks[i].err = checks[i].read(ctx)
		})
	}
	wg.Wait()
	anyNews := slices.ContainsFunc(checks, func(c upstreamCheck) bool { return c.news && c.err == nil })
	for _, c := range checks {
		if c.err == nil {
			d.say(fine, "source", "%s answers (%d read)", c.name, c.count)
			continue
		}
		v := fail
		if c.optional || (c.news && anyNews) {
			v = warn
		}
		d.say(v, "source", "%s: %s: %s", c.name, source.Reason(c.err), sourceAdvice(source.Reason(c.err), c))
	}
}

func (d *doctor) upstreamChecks() []upstreamCheck {
	options := fetch.Options{
		UserAgent: upstream.UserAgent(&d.cfg), AttemptTimeout: checkTimeout / 2, Deadline: checkTimeout, Tries: 1, Transport: &d.clock,
	}
	silent := slog.New(slog.DiscardHandler)
	client := fetch.New(options)
	markets := upstream.Markets(&d.cfg, silent, time.Now, options)
	checks := []upstreamCheck{
		{name: polymarket.Name, setting: "POLYMARKET_URL", read: func(ctx context.Context) (int, error) {
			got, err := markets.Top(ctx, 1)
			return len(got.Markets), err
		}},
		{name: polymarket.Name + " order book", setting: "POLYMARKET_CLOB_URL", optional: true, read: func(ctx context.Context) (int, error) {
			var at any
			_, err := client.JSON(ctx, fetch.Request{URL: strings.TrimRight(d.cfg.PolymarketClobURL, "/") + "/time"}, &at)
			return 1, err
		}},
	}
	settings := map[string]string{
		reddit.NameOAuth: "REDDIT_API_URL", reddit.NameAtom: "REDDIT_RSS_URL", gdelt.Name: "GDELT_URL", hackernews.Name: "HACKERNEWS_URL",
	}
	for _, member := range upstream.News(&d.cfg, silent, time.Now, options) {
		checks = append(checks, upstreamCheck{name: member.Name, setting: settings[member.Name], news: true, read: func(ctx context.Context) (int, error) {
			got, err := member.Source.Read(ctx)
			return len(got.Items), err
		}})
	}
	return checks
}

func sourceAdvice(word string, c upstreamCheck) string {
	switch word {
	case "timeout", "unreachable", "refused", "interrupted":
		return "check the network, a proxy (HTTPS_PROXY), and " + c.setting
	case "unauthorized":
		return "check REDDIT_CLIENT_ID and REDDIT_CLIENT_SECRET"
	case "http_429":
		return "too many requests: a running server may have read the source within the last minute. Try again in a few minutes"
	case "http_403":
		if c.news {
			return "the source refuses this address: set REDDIT_CLIENT_ID and REDDIT_CLIENT_SECRET, or read from another network"
		}
		return "the source refuses this address: read from another network"
	}
	if strings.HasPrefix(word, "http_5") {
		return "the source itself has a problem: wait. The last good snapshot is still served"
	}
	return "the answer has an unknown format: check " + c.setting + ", or look for a newer version of this program"
}

// maxSkew is how far the clock may be off without a warning. Seconds matter, because the clock
// decides whether a price counts as before or after a publication.
const maxSkew = 5 * time.Second

// clock is an HTTP transport that compares this machine's clock with the Date of the answers.
type clock struct {
	mu   sync.Mutex
	skew []time.Duration // positive if our clock is ahead
}

// RoundTrip reads the Date of the answer, which has no fractions of a second.
func (c *clock) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := time.Now()
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	at, dateErr := http.ParseTime(resp.Header.Get("Date"))
	if dateErr == nil {
		age, _ := strconv.Atoi(resp.Header.Get("Age")) // set by a cache; 0 if missing
		c.note(sent, at.Add(time.Duration(age)*time.Second+500*time.Millisecond))
	}
	return resp, nil
}

// note compares the server's time with the middle of the request by our clock.
func (c *clock) note(sent, theirs time.Time) {
	ours := sent.Add(time.Since(sent) / 2)
	c.add(ours.Sub(theirs))
}

// add records how far our clock is ahead of another clock.
func (c *clock) add(ahead time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skew = append(c.skew, ahead)
}

func (d *doctor) time() {
	skew := d.clock.skew
	if len(skew) == 0 {
		d.say(warn, "clock", "not checked: no answer contained the time")
		return
	}
	slices.Sort(skew)
	middle := skew[len(skew)/2]
	if middle.Abs() > maxSkew {
		way := "behind"
		if middle > 0 {
			way = "ahead of"
		}
		d.say(warn, "clock", "%s %s the other clocks: run an NTP client. This clock decides which price counts for a prediction and when a key expires", middle.Abs().Round(time.Second), way)
		return
	}
	d.say(fine, "clock", "%s", fmt.Sprintf("within %s of %d other clocks", maxSkew, len(skew)))
}
