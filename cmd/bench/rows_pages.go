package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pulsecast/pulsecast/app/signal"
	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// publishedBeside is the number of predictions published per second while pages are read.
const publishedBeside = 200

// warmUp is how long the publishers connect and publish before a page is measured beside them.
const warmUp = 500 * time.Millisecond

// page is the first page of a list, or one record.
type page struct {
	name string // the path in the contract
	want want
}

// firstPages lists the pages that are compared with the signal list.
func (n *node) firstPages(ctx context.Context, w *world) ([]page, error) {
	first, err := n.want("/api/predictions?limit=1", `"predictions":[{"id"`).fetch(ctx)
	if err != nil {
		return nil, err
	}
	var list struct {
		Predictions []struct {
			ID    string
			Agent struct{ Handle string }
		}
	}
	if err := json.Unmarshal(first.body, &list); err != nil {
		return nil, err
	}
	record := list.Predictions[0]
	return []page{
		{"/api/predictions", n.want("/api/predictions", `"predictions":[{"id"`)},
		{"/api/predictions/{id}", n.want("/api/predictions/"+record.ID, `"prediction":{"id":"`+record.ID)},
		{assignmentsPage, n.want("/api/assignments", `"assignments":[{"id"`)},
		{"/api/leaderboard", n.want("/api/leaderboard", `"leaderboard":[{"rank"`)},
		{"/api/agents/{handle}", n.want("/api/agents/"+record.Agent.Handle, `"handle":"`+record.Agent.Handle+`"`)},
		{marketPage, n.want("/api/intelligence/markets/"+w.markets[0], `"id":"`+w.markets[0]+`"`)},
	}, nil
}

// beside returns a contender that measures c while predictions are published at a fixed rate.
func (p *publisher) beside(c contender, l traffic) contender {
	return contender{c.name, func(ctx context.Context) (s sample, err error) {
		inner, stop := context.WithCancel(ctx)
		defer stop()
		done := make(chan error, 1)
		go func() {
			_, err := p.run(inner, l)
			done <- err
		}()
		if err := sleep(ctx, warmUp); err != nil {
			return s, err
		}
		began, before := time.Now(), p.acknowledged.Load()
		s, err = c.measure(ctx)
		s.beside = float64(p.acknowledged.Load()-before) / time.Since(began).Seconds()
		stop()
		// The work that follows from publishing should not burden the next measurement.
		return s, errors.Join(err, <-done, sleep(ctx, time.Second))
	}}
}

// slower returns a reason if too few predictions were published during a measurement, and otherwise
// an empty text.
func (all samples) slower(name string) string {
	published := all.series(name, perSecond, func(s sample) float64 { return s.beside }).median()
	if published < publishedBeside*.95 {
		return fmt.Sprintf("only %s/s were published", number(published))
	}
	return ""
}

// pages compares first pages with the signal list. It also compares them with themselves while
// predictions are published.
func (b *bench) pages(ctx context.Context) ([]row, error) {
	n, p, err := b.onPostgres(ctx, "pages")
	if err != nil {
		return nil, err
	}
	defer n.Stop()
	// A page of a market shows this many predictions. It should not get longer while it is measured.
	if _, err := p.run(ctx, traffic{clients: 64, count: int64(signal.DefaultLimit * len(b.seeded.markets))}); err != nil {
		return nil, err
	}
	pages, err := n.firstPages(ctx, b.seeded)
	if err != nil {
		return nil, err
	}
	const list = "signal list"
	contenders := []contender{n.get(list, n.signals()), n.get(compressedName(list), n.signals().compressed())}
	for _, page := range pages {
		if err := n.warm(ctx, page.want); err != nil {
			return nil, err
		}
		busy := p.beside(n.get(busyName(page.name), page.want.whileChanging()), traffic{clients: 16, rate: publishedBeside})
		bare, err := b.bareOf(ctx, n, page)
		if err != nil {
			return nil, err
		}
		defer bare.Stop()
		same := want{address: bare.Address, path: "/", contains: page.want.contains}
		contenders = append(contenders, n.get(page.name, page.want), busy, n.get(bareName(page.name), same),
			n.get(compressedName(page.name), page.want.compressed()))
	}
	all, err := b.compare(ctx, contenders)
	if err != nil {
		return nil, err
	}
	var quiet, compressed, busy, latency []row
	for _, page := range pages {
		b.floors = append(b.floors, row{
			what: "`" + page.name + "`", ours: all.rates(page.name), reference: named("fasthttp, same bytes", all.rates(bareName(page.name))),
		})
		name, with := "`"+page.name+"`", busyName(page.name)
		failed := all.slower(with)
		quiet = append(quiet, row{what: name, ours: all.rates(page.name), reference: all.rates(list), target: atLeast(.7)})
		compressed = append(compressed, row{
			what: name + ", gzip", ours: all.rates(compressedName(page.name)), reference: all.rates(compressedName(list)), target: atLeast(.7),
		})
		busy = append(busy, row{
			what: name + " while 200/s are published", ours: all.rates(with),
			reference: named("nothing changing", all.rates(page.name)), target: atLeast(.5), failed: failed,
		})
		latency = append(latency, row{
			what: name + " while 200/s are published, p99", ours: all.latencies(with), target: atMost(20), failed: failed,
		})
	}
	return slices.Concat(quiet, compressed, busy, latency), nil
}

// bareOf serves a page's answer with fasthttp.
func (b *bench) bareOf(ctx context.Context, n *node, p page) (*run.Process, error) {
	answer, err := p.want.fetch(ctx)
	if err != nil {
		return nil, err
	}
	return b.startBare(ctx, &recordedAnswer{Header: ownHeader(answer.header), ETag: answer.header.Get("ETag"), Plain: answer.body})
}

// compressedName names the request of a usual client, which accepts gzip.
func compressedName(page string) string { return page + ", gzip" }

func bareName(page string) string { return page + " by fasthttp" }

func busyName(page string) string { return page + " while publishing" }

// crowd compares a market that has very many open predictions with one that has ten. It does the
// same for the assignments, which include the market.
func (b *bench) crowd(ctx context.Context) ([]row, error) {
	few, fewPublisher, err := b.onPostgres(ctx, "few")
	if err != nil {
		return nil, err
	}
	defer few.Stop()
	many, manyPublisher, err := b.onPostgres(ctx, "many")
	if err != nil {
		return nil, err
	}
	defer many.Stop()
	market := b.seeded.crowd
	if _, err := fewPublisher.run(ctx, traffic{clients: 10, count: 10, market: market}); err != nil {
		return nil, err
	}
	run.Progress("  publishing %d predictions on one market", b.Crowd)
	if _, err := manyPublisher.run(ctx, traffic{clients: 64, count: int64(b.Crowd), market: market}); err != nil {
		return nil, err
	}
	fewContenders, err := few.onMarket(ctx, "10", market, fewPublisher)
	if err != nil {
		return nil, err
	}
	manyContenders, err := many.onMarket(ctx, "crowd", market, manyPublisher)
	if err != nil {
		return nil, err
	}
	all, err := b.compare(ctx, append(fewContenders, manyContenders...))
	if err != nil {
		return nil, err
	}
	var quiet, busy []row
	for _, name := range []string{marketPage, assignmentsPage} {
		what := fmt.Sprintf("`%s` with %s open predictions on a market", name, number(float64(b.Crowd)))
		quiet = append(quiet, row{
			what: what, ours: all.rates("crowd " + name),
			reference: named("with 10", all.rates("10 "+name)), target: atLeast(.9),
		})
		busy = append(busy, row{
			what: what + " while 20/s are published on it", ours: all.rates(busyName("crowd " + name)),
			reference: named("with 10", all.rates(busyName("10 "+name))), target: atLeast(.9),
		})
	}
	return append(quiet, busy...), nil
}

const marketPage, assignmentsPage = "/api/intelligence/markets/{id}", "/api/assignments"

// onMarket returns contenders that request a market and the assignments that include it, at rest
// and while predictions are published on the market.
func (n *node) onMarket(ctx context.Context, prefix, market string, p *publisher) ([]contender, error) {
	var contenders []contender
	for _, page := range []page{
		{prefix + " " + marketPage, n.want("/api/intelligence/markets/"+market, `"id":"`+market+`"`)},
		{prefix + " " + assignmentsPage, n.want("/api/assignments", market)},
	} {
		if err := n.warm(ctx, page.want); err != nil {
			return nil, err
		}
		busy := p.beside(n.get(busyName(page.name), page.want.whileChanging()), traffic{clients: 4, rate: 20, market: market})
		contenders = append(contenders, n.get(page.name, page.want), busy)
	}
	return contenders, nil
}
