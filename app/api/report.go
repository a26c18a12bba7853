package api

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/problem"
)

type reportedWire struct {
	OK       bool       `json:"ok"`
	Report   reportWire `json:"report"`
	Warnings []string   `json:"warnings"`
}

type reportWire struct {
	ID           string `json:"id"`
	PredictionID string `json:"predictionId"`
	Kind         string `json:"kind"`
	Status       string `json:"status"`
	CreatedAt    string `json:"createdAt"`
}

// report sends a complaint about a prediction to the admins.
func (a *API) report(c *fiber.Ctx) error {
	id, err := predictionID(c)
	if err != nil {
		return err
	}
	body, err := readObject(c)
	if err != nil {
		return err
	}
	report := moderation.Report{PredictionID: id, ReporterID: callerID(c), Kind: moderation.ReportKind(body.text("kind")), Text: body.text("text")}
	unknown := unknownFields(body.unknown())
	if len(body.wrong) > 0 {
		return problem.InvalidRequest(body.wrong...)
	}
	filed, err := a.Moderation.File(c.UserContext(), report)
	if err != nil {
		return err
	}
	if unknown == nil {
		unknown = []string{}
	}
	return respond(c, reportedWire{OK: true, Warnings: unknown, Report: reportWire{
		ID: filed.ID.String(), PredictionID: id.String(), Kind: string(filed.Kind), Status: filed.Status, CreatedAt: formatTime(filed.CreatedAt),
	}})
}

type answeredWire struct {
	reportWire
	Text     string  `json:"text"`
	Answer   *string `json:"answer"`
	ClosedAt *string `json:"closedAt"`
}

// reports lists the caller's own reports about a prediction, with their outcomes.
func (a *API) reports(c *fiber.Ctx) error {
	asked, err := parseShortPage(c.Context().QueryArgs(), "reports")
	if err != nil {
		return err
	}
	id, err := predictionID(c)
	if err != nil {
		return err
	}
	about, err := a.findPrediction(c.UserContext(), predictionQuery{id: id})
	if err != nil {
		return err
	}
	list, err := a.Moderation.ReportsOf(c.UserContext(), about.ID, callerID(c))
	if err != nil {
		return err
	}
	list, next := cut(asked, list, func(r moderation.Report) (time.Time, string) { return r.CreatedAt, r.ID.String() })
	wire := make([]answeredWire, len(list))
	for i := range list {
		r := &list[i]
		wire[i] = answeredWire{Text: r.Text, Answer: textOrNull(r.Answer), reportWire: reportWire{
			ID: r.ID.String(), PredictionID: about.ID.String(), Kind: string(r.Kind), Status: r.Status, CreatedAt: formatTime(r.CreatedAt),
		}}
		if !r.ClosedAt.IsZero() {
			at := formatTime(r.ClosedAt)
			wire[i].ClosedAt = &at
		}
	}
	return respondOwn(c, struct {
		OK         bool           `json:"ok"`
		Reports    []answeredWire `json:"reports"`
		NextCursor *string        `json:"nextCursor"`
	}{true, wire, next})
}
