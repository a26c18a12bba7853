package admin

import (
	"context"
	"strconv"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/agent"
	views "github.com/pulsecast/pulsecast/views/admin"
)

// usageHours is how far back the page of an agent looks.
const usageHours = 48

// addUsage adds what an agent asked, by hour and by endpoint, and its latest errors.
func (d *Desk) addUsage(ctx context.Context, _ *visit, a *agent.Agent, p *views.AgentProps) error {
	hours, err := d.Usage.ByHour(ctx, d.DB.Reader, []uuid.UUID{a.ID}, usageHours)
	if err != nil {
		return err
	}
	for _, h := range hours[a.ID] {
		p.Hours = append(p.Hours, views.Bar{Label: h.At.Format("2 Jan 15:04 UTC"), Requests: h.Requests, Wrong: h.Errors + h.Limited})
	}
	endpoints, err := d.Usage.Endpoints(ctx, d.DB.Reader, a.ID, usageHours)
	if err != nil {
		return err
	}
	p.Endpoints = views.Table{Heads: []views.Head{{Label: "Endpoint"}, {Label: "Requests", Num: true}, {Label: "By hour", Wide: true},
		{Label: "Refused", Title: "Answered 4xx but 429", Num: true}, {Label: "Limited", Title: "Answered 429", Num: true}, {Label: "Failed", Title: "Answered 5xx: our fault", Num: true}}}
	for i := range endpoints {
		p.Endpoints.Rows = append(p.Endpoints.Rows, endpointCells(&endpoints[i]))
	}
	failures, err := d.Usage.Failures(ctx, d.DB.Reader, a.ID)
	if err != nil {
		return err
	}
	p.Errors = views.Table{Empty: "No error in 30 days", Heads: []views.Head{{Label: "Code"}, {Label: "Status", Num: true}, {Label: "Endpoint"}, {Label: "Request id", Wide: true}, {Label: "When"}}}
	for i := range failures {
		p.Errors.Rows = append(p.Errors.Rows, d.failureCells(&failures[i]))
	}
	return nil
}

func endpointCells(e *agent.Endpoint) []views.Cell {
	bars := make([]float64, len(e.Hours))
	for i, n := range e.Hours {
		bars[i] = float64(n)
	}
	failed := count(e.Failed)
	if e.Failed > 0 {
		failed.Tone = "neg"
	}
	return []views.Cell{{Text: endpointWords(e.Method, e.Route), Tone: "code"}, count(e.Total()),
		{Trend: bars, Label: "Requests by hour, 48 hours", Wide: true}, count(e.Refused), count(e.Limited), failed}
}

func (d *Desk) failureCells(f *agent.Failure) []views.Cell {
	code := views.Cell{Text: f.Code, Tone: "code"}
	if f.Code == "" {
		code = views.Cell{Text: "no code", Tone: "muted"}
	}
	return []views.Cell{code, {Text: strconv.Itoa(f.Status), Num: true}, {Text: endpointWords(f.Method, f.Route), Tone: "code"},
		{Text: f.RequestID, Tone: "code", Wide: true}, d.moment(f.CreatedAt)}
}

func endpointWords(method, route string) string {
	if route == "" {
		route = "no such address"
	}
	return method + " " + route
}
