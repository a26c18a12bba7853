package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

type publishedWire struct {
	OK         bool           `json:"ok"`
	Prediction predictionWire `json:"prediction"`
	ReadAs     string         `json:"readAs"`
	Warnings   []string       `json:"warnings"`
}

func (a *API) publish(c *fiber.Ctx) error {
	dryRun, err := choice(c.Context().QueryArgs(), "dryRun", "true", "false")
	if err != nil {
		return err
	}
	key, err := idempotencyKey(c)
	if err != nil {
		return err
	}
	body, err := readObject(c)
	if err != nil {
		return err
	}
	draft, dry, unknown := readDraft(body)
	dry = dry || dryRun == "true"
	var refused error
	if wrong := checkDraft(body, &draft, a.Now()); len(wrong) > 0 {
		// A repeat gets its first answer, even if its horizon has passed meanwhile.
		if refused = problem.InvalidPrediction(wrong...); key == "" || dry {
			return refused
		}
	}
	answer, err := a.Publisher.Publish(c.UserContext(), prediction.Submission{
		Agent: *caller(c).Agent, Draft: draft, Warnings: unknown, Refused: refused,
		DryRun: dry, IdempotencyKey: key, BodyHash: sha256.Sum256(c.Body()),
		Render: func(p prediction.Receipt) ([]byte, error) {
			return answer.JSON(
				publishedWire{OK: true, Prediction: a.prediction(&p.Record), ReadAs: p.ReadAs, Warnings: p.Warnings},
			)
		},
	})
	if err != nil {
		return err
	}
	return send(c, answer)
}

// draftFields and evidenceFields are the fields of the body of a publish. draftChoices may be left out, and can't be changed
// once the prediction is published.
var (
	draftFields = []string{
		"title", "thesis", "confidence", "horizonAt", "category", "model", "marketId", "outcome", "evidence", "reveal",
		"dryRun",
	}
	draftChoices   = []string{"marketId", "outcome", "horizonAt", "reveal", "dryRun"}
	evidenceFields = []string{"title", "url"}
)

// readDraft reads the body. It refuses misspelled fields and those related to a choice that is left out, because a publish
// can't be taken back. It warns of other unknown fields.
func readDraft(body *object) (d prediction.Draft, dryRun bool, warnings []string) {
	d = prediction.Draft{
		Title: body.text("title"), Thesis: body.text("thesis"),
		Confidence: body.number("confidence"), HorizonAt: body.time("horizonAt"),
		Category: body.text("category"), Model: body.text("model"),
		MarketID: body.text("marketId"), Outcome: body.text("outcome"), Reveal: prediction.Reveal(body.text("reveal")),
	}
	if raw, sent := body.value("title"); sent && raw[0] == '"' && plaintext.Blank(d.Title) {
		body.fail("title", "is required: send 1 to %d characters, or leave it out with a marketId", prediction.MaxTitle)
	}
	if raw, sent := body.value("reveal"); sent && raw[0] == '"' && d.Reveal == "" { // "now" can't be taken back
		body.fail("reveal", `is empty: send "now", "baseline" or "close", or leave it out for "now"`)
	}
	dryRun = body.boolean("dryRun")
	evidence := body.objects("evidence", prediction.MaxEvidence)
	body.refuseRelated(draftFields, draftChoices)
	unknown := body.unknown()
	for i, item := range evidence {
		d.Evidence = append(d.Evidence, prediction.Evidence{Title: item.text("title"), URL: item.text("url")})
		item.refuseMisspelled(body, fmt.Sprintf("evidence[%d].", i), evidenceFields)
		for _, name := range item.unknown() {
			unknown = append(unknown, fmt.Sprintf("evidence[%d].%s", i, name))
		}
		for _, f := range item.wrong {
			body.fail(fmt.Sprintf("evidence[%d].%s", i, f.Field), "%s", f.Message)
		}
	}
	return d, dryRun, unknownFields(unknown)
}

// checkDraft returns what is wrong with a draft and with the body that it was read from.
func checkDraft(body *object, d *prediction.Draft, now time.Time) []problem.Field {
	return body.merge(slices.DeleteFunc(d.Check(now), func(f problem.Field) bool { return body.explains(f.Field) }))
}

// explains reports whether a field is missing only because the body was refused: its name is misspelled, or it may be left
// out with a market and the body's market is refused.
func (o *object) explains(missing string) bool {
	if o.has(missing) {
		return false
	}
	within, known := "", draftFields
	if end := strings.LastIndexByte(missing, '.'); end >= 0 {
		within, known = missing[:end+1], evidenceFields
	}
	return slices.ContainsFunc(o.wrong, func(f problem.Field) bool {
		name, ok := strings.CutPrefix(f.Field, within)
		if !ok {
			return false
		}
		meant := within + cmp.Or(intended(name, known), related(name, known))
		return meant == missing || (meant == "marketId" && (missing == "title" || missing == "horizonAt"))
	})
}

// maxUnknown bounds how many unknown or misspelled fields of an object an answer names, because the answer is kept
// for a day.
const maxUnknown = 20

func unknownFields(names []string) []string {
	var out []string
	for i, name := range names {
		if i == maxUnknown {
			return append(out, fmt.Sprintf("%d more unknown fields were ignored.", len(names)-i))
		}
		out = append(
			out, fmt.Sprintf("Unknown field %.64q was ignored; /api/openapi.json lists the known fields.", name),
		)
	}
	return out
}

// idempotencyKey reads the header Idempotency-Key, either bare or as a quoted string of RFC 8941.
func idempotencyKey(c *fiber.Ctx) (string, error) {
	const name = "Idempotency-Key"
	sent := c.Request().Header.PeekAll(name)
	if len(sent) == 0 {
		return "", nil
	}
	key := strings.TrimSpace(string(sent[0]))
	if len(key) >= 2 && key[0] == '"' && key[len(key)-1] == '"' {
		key = key[1 : len(key)-1]
	}
	visible := !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
	if len(sent) > 1 || key == "" || len(key) > 255 || !visible {
		return "", problem.InvalidParameter(
			name, "must be sent once, with 1 to 255 visible ASCII characters and no spaces, for example a UUID",
		)
	}
	return key, nil
}

type predictionsWire struct {
	OK          bool             `json:"ok"`
	Predictions []predictionWire `json:"predictions"`
	NextCursor  *string          `json:"nextCursor"`
	Newest      *int             `json:"newest"`
}

// storedTopics are the topics of one stored prediction, which contains its agent's name and its market's
// price. No other publish changes it. recordTopics are those of answers that contain predictions and change
// with each publish.
var (
	storedTopics = []generation.Topic{generation.Results, generation.Markets, generation.Agents, generation.Texts}
	recordTopics = append([]generation.Topic{generation.Predictions}, storedTopics...)
)

// predictionsQuery asks for a page of predictions. It names the agent by its handle.
type predictionsQuery struct {
	prediction.Filter
	handle string
	viewer agent.Viewer
}

func (a *API) listPredictions() fiber.Handler {
	return cached(a, operation[predictionsQuery]{
		parse: func(c *fiber.Ctx) (predictionsQuery, error) {
			q, err := parsePredictions(c)
			if err == nil {
				q.handle, err = a.handleOf(c, q.handle)
			}
			if err == nil {
				q.viewer, _, err = a.viewer(c)
			}
			return q, err
		},
		read: a.readPredictions, topics: recordTopics, cost: costOfPredictions,
	})
}

func costOfPredictions(q predictionsQuery) httpserver.Cost {
	plain := predictionsQuery{Filter: prediction.Filter{Limit: DefaultLimit, MaxText: prediction.MaxPageText, Sort: prediction.ByCreatedAt}}
	if q.handle != "" {
		q.AgentID = uuid.Max // not looked up yet
	}
	if q.Searches() {
		return httpserver.Search
	}
	return shared(q == plain, httpserver.Listing)
}

func parsePredictions(c *fiber.Ctx) (f predictionsQuery, err error) {
	args := c.Context().QueryArgs()
	f.MaxText = prediction.MaxPageText
	if f.Limit, err = ParseLimit(args); err != nil {
		return f, err
	}
	for _, p := range []struct {
		name string
		to   *string
	}{{"category", &f.Category}, {"market", &f.MarketID}, {"event", &f.EventID}, {"agent", &f.handle}} {
		if *p.to, err = filter(args, p.name, maxParameter); err != nil {
			return f, err
		}
	}
	if f.Cursor, err = text(args, "cursor", maxParameter); err != nil {
		return f, err
	}
	f.Category = strings.ToLower(f.Category)
	status, err := choice(args, "status", string(prediction.Open), string(prediction.Resolved), string(prediction.Void))
	if err != nil {
		return f, err
	}
	sort, err := choice(
		args, "sort", string(prediction.ByCreatedAt), string(prediction.ByResolvedAt), string(prediction.ByEdge),
	)
	if err != nil {
		return f, err
	}
	f.Status, f.Sort = prediction.Status(status), prediction.Sort(cmp.Or(sort, string(prediction.ByCreatedAt)))
	found, err := words(args)
	f.Words = strings.Join(found, " ")
	return f, err
}

// readPredictions reads a page. It returns not_found for the handle of an unknown agent.
func (a *API) readPredictions(ctx context.Context, q predictionsQuery) (any, error) {
	if q.handle != "" {
		found, err := a.agents.ByHandle(ctx, a.DB.Reader, q.handle)
		if err != nil {
			return nil, err
		}
		q.AgentID = found.ID
	}
	records, next, newest, err := a.store.For(q.viewer).Ranked(ctx, a.DB.Reader, q.Filter)
	if err != nil {
		return nil, err
	}
	w := predictionsWire{OK: true, Predictions: a.predictions(records), NextCursor: textOrNull(next)}
	if newest > 0 {
		w.Newest = &newest
	}
	return w, nil
}

// viewer returns the viewer of the caller's answers. It is the public unless the agent has predictions that only it may
// see yet, and the caller may read the agent's private data. publisher is the caller if it has just published. So most
// callers share the copies in memory.
func (a *API) viewer(c *fiber.Ctx) (viewer agent.Viewer, publisher uuid.UUID, err error) {
	me := callerID(c)
	if me == uuid.Nil {
		return viewer, publisher, nil
	}
	own, err := a.store.OwnState(c.UserContext(), a.DB.Reader, me)
	if err != nil {
		return viewer, publisher, err
	}
	if own.Unrevealed && caller(c).Allows(agent.ScopeRead) {
		viewer.AgentID = me
	}
	if own.LastPublishedAt.After(a.Now().Add(-leaderboard.OwnWithin)) {
		publisher = me
	}
	return viewer, publisher, nil
}

// predictionID returns the id of the prediction in the path; see prediction.ParseID.
func predictionID(c *fiber.Ctx) (uuid.UUID, error) {
	return prediction.ParseID(httpserver.PathValue(c, "id"))
}

// predictionQuery asks for a prediction by its id.
type predictionQuery struct {
	id     uuid.UUID
	viewer agent.Viewer
}

func (a *API) parsePrediction(c *fiber.Ctx) (q predictionQuery, err error) {
	if q.id, err = predictionID(c); err == nil {
		q.viewer, _, err = a.viewer(c)
	}
	return q, err
}

// findPrediction returns a prediction as a viewer may see it, or not_found.
func (a *API) findPrediction(ctx context.Context, q predictionQuery) (*prediction.Record, error) {
	record, err := a.store.For(q.viewer).ByID(ctx, a.DB.Reader, q.id)
	if err == nil && record == nil {
		err = prediction.NotFound()
	}
	return record, err
}

func (a *API) getPrediction() fiber.Handler {
	type wire struct {
		OK         bool           `json:"ok"`
		Prediction predictionWire `json:"prediction"`
	}
	return cached(a, operation[predictionQuery]{
		parse: a.parsePrediction,
		read: func(ctx context.Context, q predictionQuery) (any, error) {
			record, err := a.findPrediction(ctx, q)
			if err != nil {
				return nil, err
			}
			return wire{true, a.prediction(record)}, nil
		},
		topics: storedTopics, cost: costs[predictionQuery](httpserver.Lookup),
	})
}
