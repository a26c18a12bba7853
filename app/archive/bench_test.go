package archive_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
)

// BenchmarkDay records and seals a day with 500 markets each minute and 600 posts of six
// communities every two minutes. It reports the size of the day and of its segments, and the share
// of a core that recording and sealing take. The sizes by table are logged. docs/data.md lists the
// results.
func BenchmarkDay(b *testing.B) {
	for b.Loop() {
		w := newWorld(b, database.SQLite)
		traded := newTrade(500)
		began := cpuTime(b)
		for minute := range 24 * 60 {
			w.set(day.Add(time.Duration(minute) * time.Minute))
			// Read in batches of about 40 markets or 100 posts, as app/ingest does.
			const batches = 13
			markets, events := traded.next(minute), traded.events()
			for i := range batches {
				w.readMarkets(share(markets, i, batches), share(events, i, batches))
			}
			if minute%2 == 0 {
				for batch := range slices.Chunk(traded.posts(), 100) {
					w.readNews(batch)
				}
			}
		}
		recorded := cpuTime(b)
		var segments int64
		if err := w.db.NewRaw("SELECT sum(length(content)) FROM archive_segments").Scan(b.Context(), &segments); err != nil {
			b.Fatal(err)
		}
		w.set(day.AddDate(0, 0, 1).Add(time.Hour))
		w.mustTick()
		sealed := cpuTime(b)
		b.ReportMetric(float64(segments)/1e6, "MB-segments")
		b.ReportMetric((recorded - began).Seconds(), "s-recording")
		b.ReportMetric((sealed - recorded).Seconds(), "s-sealing")
		b.ReportMetric((sealed-began).Seconds()/(24*60*60)*100, "%core")
		b.ReportMetric(float64(w.sizes(b))/1e6, "MB-day")
	}
}

// share returns the i-th of n parts of a list.
func share[T any](list []T, i, n int) []T { return list[i*len(list)/n : (i+1)*len(list)/n] }

// cpuTime returns the CPU time that this process has used.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// sizes logs the size of each file of the day and returns their sum.
func (w *world) sizes(b *testing.B) (sum int64) {
	b.Helper()
	list, err := w.storage.List(b.Context(), "days/")
	if err != nil {
		b.Fatal(err)
	}
	for _, o := range list {
		sum += o.Size
		b.Logf("%9d %s", o.Size, strings.TrimPrefix(o.Name, "days/2026-11-21/"))
	}
	return sum
}

// trade is a simulated exchange. Probabilities move in steps of 0.001, volumes grow with each
// trade, and liquidity varies.
type trade struct {
	r       *rand.Rand
	markets []market.Market
	logit   []float64
	start   []float64 // volume at the start
	groups  []market.Event
	items   []news.Item
}

const perEvent = 3

func newTrade(n int) *trade {
	t := &trade{r: rand.New(rand.NewPCG(1, 2))}
	text := strings.Repeat("This market resolves to Yes if the named event happens before the date, by the listed source. ", 8)
	for i := range n {
		m := yesNo(fmt.Sprint(516000 + i*37))
		m.Question = fmt.Sprintf("Will candidate %d win the %d-th election of the river council?", i, i*13)
		m.Title, m.Slug, m.Category, m.Tags = m.Question, fmt.Sprintf("will-candidate-%d-win", i), "politics", []string{"politics", "elections"}
		m.Description = fmt.Sprintf("%d %s", i, text)
		m.ImageURL, m.URL = fmt.Sprintf("https://images.example/%x.png", t.r.Uint64()), "https://markets.example/"+m.Slug
		m.ClosesAt, m.ConditionID = day.AddDate(0, 0, 10+i%200), fmt.Sprintf("0x%064x", t.r.Uint64())
		m.TokenIDs = []string{fmt.Sprint(t.r.Uint64(), t.r.Uint64()), fmt.Sprint(t.r.Uint64(), t.r.Uint64())}
		m.EventID, m.EventTitle = fmt.Sprint(i/perEvent), "The river council"
		t.markets, t.logit, t.start = append(t.markets, m), append(t.logit, t.r.NormFloat64()*2), append(t.start, math.Exp(10+t.r.NormFloat64()*2))
		if i%perEvent == 0 {
			t.groups = append(t.groups, market.Event{ID: m.EventID, Title: m.EventTitle, Slug: m.Slug, Description: m.Description, Tags: m.Tags})
		}
	}
	for i := range t.markets {
		t.markets[i].Volume, t.markets[i].Liquidity = new(t.start[i]), new(t.start[i]/10)
	}
	for i := range 600 {
		t.items = append(t.items, t.post(i))
	}
	return t
}

func (t *trade) post(i int) news.Item {
	n := post(fmt.Sprintf("%x", t.r.Uint64()))
	n.Source, n.Community, n.Position = "reddit", news.Communities[i%6], i/6
	n.Title = fmt.Sprintf("A study of %d herons finds that %x was right about the river all along", i, t.r.Uint64())
	n.Summary = strings.Repeat(fmt.Sprintf("%x said so. ", t.r.Uint64()), t.r.IntN(15))
	n.Score, n.Author = t.r.IntN(5000), fmt.Sprintf("user%x", t.r.Uint32())
	n.URL = fmt.Sprintf("https://paper.example/%x/%d", t.r.Uint64(), i)
	return n
}

// next moves every market forward by a minute. About a third of them trade.
func (t *trade) next(minute int) []market.Market {
	for i := range t.markets {
		m := &t.markets[i]
		m.Received = fmt.Sprintf("%064x", minute*5+i/100)
		if t.r.Float64() < 0.5 {
			t.logit[i] += t.r.NormFloat64() * 0.02
		}
		if t.r.Float64() < 0.33 {
			m.Volume = new(*m.Volume + math.Round(t.r.ExpFloat64()*200*1e6)/1e6)
			m.Volume24h = new(*m.Volume - t.start[i])
		}
		if t.r.Float64() < 0.6 {
			m.Liquidity = new(math.Round(*m.Liquidity*(1+t.r.NormFloat64()*0.01)*1e4) / 1e4)
		}
		p := math.Round(1000/(1+math.Exp(-t.logit[i]))) / 1000
		p = min(max(p, 0.002), 0.998)
		m.Prices = []float64{p, math.Round((1-p)*1000) / 1000}
		m.BestBid, m.BestAsk, m.Price = new(p-0.001), new(p+0.001), new(p)
		m.PriceChange24h = new(math.Round((p-0.5)*1000) / 1000)
	}
	return t.markets
}

func (t *trade) events() []market.Event {
	for i := range t.groups {
		e := &t.groups[i]
		e.Received, e.Volume, e.Volume24h = t.markets[i*perEvent].Received, new(0.0), new(0.0)
		for j := i * perEvent; j < min((i+1)*perEvent, len(t.markets)); j++ {
			*e.Volume += *t.markets[j].Volume
		}
		*e.Volume24h = *e.Volume - t.start[i]
	}
	return t.groups
}

// posts returns the next reading of posts. A third have new votes, a fifth new comments, and one in
// 300 is new.
func (t *trade) posts() []news.Item {
	for i := range t.items {
		n := &t.items[i]
		if t.r.Float64() < 0.02/6 {
			*n = t.post(i)
		}
		if t.r.Float64() < 0.33 {
			n.Score += t.r.IntN(20) - 3
		}
		if t.r.Float64() < 0.2 {
			n.Comments += t.r.IntN(4)
		}
		n.Received = fmt.Sprintf("%064x", t.r.Uint64())
	}
	return t.items
}

// TestDayIsSmall checks the limit that docs/data.md states: the prices of a benchmark day stay
// below 30 MB. It measures half an hour and multiplies, which is an upper estimate, because a whole
// day compresses better.
func TestDayIsSmall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, database.SQLite)
	traded := newTrade(500)
	const minutes = 30
	for minute := range minutes {
		w.set(day.Add(time.Duration(minute) * time.Minute))
		w.readMarkets(traded.next(minute), traded.events())
		if minute%2 == 0 {
			w.readNews(traded.posts())
		}
	}
	w.set(day.AddDate(0, 0, 1).Add(time.Hour))
	w.mustTick()
	var readings int64
	for _, f := range w.open("2026-11-21").Manifest.Files {
		if f.Table == archive.Prices {
			readings += f.Bytes
		}
	}
	if perDay := readings * 24 * 60 / minutes; perDay > 30e6 {
		t.Errorf("prices take %.1f MB a day, want at most 30", float64(perDay)/1e6)
	}
}
