package api

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

const (
	// maxBatch is how many predictions a batch may hold.
	maxBatch = 100
	// MaxBatchBody is the largest body of a batch in bytes.
	MaxBatchBody = 1 << 20
	// BatchPath is the path that batches are sent to.
	BatchPath = "/api/predictions/batch"
)

type batchWire struct {
	OK       bool              `json:"ok"`
	Results  []batchResultWire `json:"results"`
	Warnings []string          `json:"warnings"`
}

type batchResultWire struct {
	Status     int              `json:"status"`
	Prediction *predictionWire  `json:"prediction"`
	ReadAs     *string          `json:"readAs"`
	Warnings   []string         `json:"warnings"`
	Error      *itemProblemWire `json:"error"`
}

// itemProblemWire is the problem of one item within an answer.
type itemProblemWire struct {
	Type   string          `json:"type"`
	Title  string          `json:"title"`
	Status int             `json:"status"`
	Detail string          `json:"detail"`
	Code   string          `json:"code"`
	Errors []problem.Field `json:"errors"`
	// RetryAfter is the number of seconds to wait, 0 if there is none.
	RetryAfter int `json:"retryAfter,omitempty"`
}

// publishBatch publishes several predictions at once. Limits.Writes has counted one of them.
func (a *API) publishBatch(limits *httpserver.Limits) fiber.Handler {
	return func(c *fiber.Ctx) error {
		batch, err := a.readBatch(c, limits.MaxWrites())
		if err != nil {
			return err
		}
		if batch.IdempotencyKey != "" && !batch.DryRun {
			release, err := a.Publisher.Claim(c.UserContext(), &batch)
			if err != nil {
				return err
			}
			defer release()
		}
		answer, err := a.answered(c, &batch)
		if err != nil {
			return err
		}
		if answer != nil {
			return send(c, answer)
		}
		if batch.DryRun {
			if answer, _, err = a.Publisher.PublishAll(c.UserContext(), batch); err != nil {
				return err
			}
			return send(c, answer)
		}
		giveBack, refusal := limits.MoreWrites(c, len(batch.Items)-1, batch.IdempotencyKey != "")
		if refusal != nil {
			if answer, err = a.awaited(c, &batch); err != nil {
				return err
			}
			if answer == nil {
				return refusal
			}
			return send(c, answer)
		}
		failed := countFailed(&batch)
		answer, repeat, err := a.Publisher.PublishAll(c.UserContext(), batch)
		if err != nil || repeat {
			giveBack(len(batch.Items))
		} else if n := failed.Load(); n > 0 {
			giveBack(int(n))
		}
		if err != nil {
			return err
		}
		return send(c, answer)
	}
}

// countFailed returns the number of items that the service failed to store. It is known once the batch is
// rendered.
func countFailed(batch *prediction.BatchSubmission) *atomic.Int64 {
	failed, render := new(atomic.Int64), batch.Render
	batch.Render = func(outcomes []prediction.ItemOutcome) ([]byte, error) {
		n := 0
		for i := range outcomes {
			if err := outcomes[i].Err; err != nil && problem.As(err).Status >= http.StatusInternalServerError {
				n++
			}
		}
		failed.Store(int64(n))
		return render(outcomes)
	}
	return failed
}

// answered returns the answer to an earlier request with the same key, so that a batch that is sent again
// isn't counted again.
func (a *API) answered(c *fiber.Ctx, batch *prediction.BatchSubmission) ([]byte, error) {
	if batch.IdempotencyKey == "" || batch.DryRun {
		return nil, nil
	}
	return a.Publisher.Answered(c.UserContext(), batch)
}

// awaited is like answered, but waits for the first request if another node is storing it. It may be the one that used
// up the limit.
func (a *API) awaited(c *fiber.Ctx, batch *prediction.BatchSubmission) ([]byte, error) {
	if batch.IdempotencyKey == "" {
		return nil, nil
	}
	return a.Publisher.AwaitAnswer(c.UserContext(), batch)
}

// readBatch reads the request. A mistake in one item refuses only that item.
func (a *API) readBatch(c *fiber.Ctx, mostWrites int) (batch prediction.BatchSubmission, err error) {
	dryRun, err := choice(c.Context().QueryArgs(), "dryRun", "true", "false")
	if err != nil {
		return batch, err
	}
	key, err := idempotencyKey(c)
	if err != nil {
		return batch, err
	}
	body, err := readObject(c)
	if err != nil {
		return batch, err
	}
	list := body.array("predictions", mostOf(mostWrites))
	if len(list) == 0 && len(body.wrong) == 0 {
		body.fail("predictions", "is empty: send 1 to %d objects", mostOf(mostWrites))
	}
	dry := body.boolean("dryRun")
	body.refuseRelated([]string{"predictions", "dryRun"}, []string{"dryRun"})
	if len(body.wrong) > 0 {
		return batch, problem.InvalidRequest(body.wrong...)
	}
	batch = prediction.BatchSubmission{
		Agent: *caller(c).Agent, DryRun: dry || dryRun == "true", IdempotencyKey: key, BodyHash: sha256.Sum256(c.Body()),
	}
	for _, raw := range list {
		batch.Items = append(batch.Items, a.readBatchItem(raw))
	}
	warnings := unknownFields(body.unknown())
	batch.Render = func(outcomes []prediction.ItemOutcome) ([]byte, error) { return a.renderBatch(outcomes, warnings) }
	return batch, nil
}

// mostOf returns how many predictions a batch may hold if the limits allow that many publications at once.
func mostOf(writes int) int {
	if writes > 0 {
		return min(writes, maxBatch)
	}
	return maxBatch
}

func (a *API) readBatchItem(raw json.RawMessage) (item prediction.BatchItem) {
	body, ok := newObject(raw)
	if !ok {
		item.Refused = problem.InvalidPrediction(problem.Field{Field: "predictions", Message: "must hold objects, got " + kindOf(raw)})
		return item
	}
	if _, sent := body.fields["dryRun"]; sent {
		body.fail("dryRun", "belongs beside predictions, not in an item: it applies to the whole batch")
	}
	item.Draft, _, item.Warnings = readDraft(body)
	if wrong := checkDraft(body, &item.Draft, a.Now()); len(wrong) > 0 {
		item.Refused = problem.InvalidPrediction(wrong...)
	}
	return item
}

func (a *API) renderBatch(outcomes []prediction.ItemOutcome, warnings []string) ([]byte, error) {
	wire := batchWire{OK: true, Results: make([]batchResultWire, len(outcomes)), Warnings: append([]string{}, warnings...)}
	for i := range outcomes {
		o, w := &outcomes[i], &wire.Results[i]
		if o.Err != nil {
			*w = a.refusedItem(o.Err)
			continue
		}
		shown := a.prediction(&o.Receipt.Record)
		*w = batchResultWire{
			Status: http.StatusOK, Prediction: &shown, ReadAs: &o.Receipt.ReadAs, Warnings: o.Receipt.Warnings,
		}
	}
	return answer.JSON(wire)
}

// refusedItem returns the refusal of an item that isn't stored. The cause of a failure of the service goes
// only to the log.
func (a *API) refusedItem(err error) batchResultWire {
	p := problem.As(err)
	if p.Status >= http.StatusInternalServerError {
		a.Log.Error("an item of a batch failed", "cause", fmt.Sprint(p.Cause))
	}
	return batchResultWire{Status: p.Status, Warnings: []string{}, Error: &itemProblemWire{
		Type: p.Type(a.Config.BaseURL), Title: p.Title, Status: p.Status, Detail: p.Detail, Code: p.Code,
		Errors: append([]problem.Field{}, p.Fields...), RetryAfter: p.WaitSeconds(),
	}}
}
