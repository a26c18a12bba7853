package prediction_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// BenchmarkPublish publishes for 100 agents on 100 markets, from one goroutine and from 64.
func BenchmarkPublish(b *testing.B) {
	for _, kind := range dbtest.Kinds {
		for _, clients := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d", kind, clients), func(b *testing.B) {
				db := dbtest.Open(b, kind)
				publisher := prediction.NewPublisher(db, time.Now, time.Hour, "https://pulse.example")
				agents := make([]agent.Agent, 100)
				err := db.InTx(b.Context(), func(ctx context.Context, tx bun.Tx) error {
					var markets []market.Market
					for i := range agents {
						made, err := agent.Store{}.Create(ctx, tx, agent.New{Profile: agent.Profile{Name: fmt.Sprint("Agent ", i)}, At: start})
						if err != nil {
							return err
						}
						agents[i] = *made
						m := yesNo(fmt.Sprint(i), fmt.Sprintf("Question %d?", i))
						m.ClosesAt, m.ObservedAt = time.Now().AddDate(0, 1, 0), time.Now()
						markets = append(markets, m)
					}
					return market.Store{}.Observe(ctx, tx, markets)
				})
				if err != nil {
					b.Fatal(err)
				}
				var n atomic.Int64
				b.SetParallelism(max(1, clients/2))
				one := func() error {
					i := int(n.Add(1))
					d := draft(func(d *prediction.Draft) {
						at := time.Now().AddDate(0, 2, 0)
						d.Title, d.MarketID, d.HorizonAt = fmt.Sprintf("Is this number %d?", i), fmt.Sprint(i*7%100), &at
						d.Thesis = longThesis(i)
					})
					_, err := publisher.Publish(b.Context(), prediction.Submission{
						Agent: agents[i%100], Draft: d,
						Render: func(r prediction.Receipt) ([]byte, error) { return []byte(r.ReadAs), nil },
					})
					return err
				}
				var failed error
				if clients == 1 {
					for b.Loop() {
						failed = errors.Join(failed, one())
					}
				} else {
					b.RunParallel(func(pb *testing.PB) {
						for pb.Next() {
							if err := one(); err != nil {
								b.Error(err)
							}
						}
					})
				}
				if failed != nil {
					b.Fatal(failed)
				}
			})
		}
	}
}

// longThesis returns a thesis of some 1,200 characters, a realistic length. It uses 4,000 words with very
// different frequencies.
func longThesis(seed int) string {
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	var b strings.Builder
	for b.Len() < 1200 {
		fmt.Fprintf(&b, "word%d ", int(4000*r.Float64()*r.Float64()))
	}
	return b.String()
}
