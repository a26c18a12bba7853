package replay

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/static"
)

// maxIDs and maxPairs are the maximum numbers of market ids and pairs of a run.
const (
	maxIDs   = 10_000
	maxPairs = 10_000
)

// newRun is the body of POST /r.
type newRun struct {
	Name        string     `json:"name"`
	Model       string     `json:"model"`
	Filter      Filter     `json:"filter"`
	From        *time.Time `json:"from"`
	To          *time.Time `json:"to"`
	ModelCutoff *time.Time `json:"modelCutoff"`
	OpenWeb     OpenWeb    `json:"openWeb"`
	Bound       bool       `json:"bound"`
	Pairs       []Pair     `json:"pairs"`
}

// madeRun is the answer to POST /r. The key and the token are shown only once.
type madeRun struct {
	OK            bool      `json:"ok"`
	Run           string    `json:"run"`
	AgentKey      *string   `json:"agentKey"` // null for a bound run
	OperatorToken string    `json:"operatorToken"`
	From          time.Time `json:"from"`
	To            time.Time `json:"to"`
	BaseURL       string    `json:"baseUrl"` // with {T} in place of the moment
	ReportURL     string    `json:"reportUrl"`
}

// readBody decodes one JSON object and refuses unknown fields.
func readBody(c *fiber.Ctx, into any) error {
	d := json.NewDecoder(bytes.NewReader(c.Body()))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return refuseBody(err, into)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return problem.InvalidJSON("The body must be one JSON object, with nothing after it.")
	}
	return nil
}

func refuseBody(err error, into any) error {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && t.Field != "" {
		return problem.InvalidRequest(problem.Field{Field: t.Field, Message: fmt.Sprintf("must be %s, not a JSON %s", kindOf(t.Type), t.Value)})
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		known := strings.Join(fieldsOf(reflect.TypeOf(into)), ", ")
		return problem.InvalidRequest(problem.Field{Field: strings.Trim(name, `"`), Message: "is not a field of this request, which has " + known})
	}
	if t, ok := errors.AsType[*time.ParseError](err); ok {
		return problem.InvalidRequest(problem.Field{Field: "body", Message: fmt.Sprintf("%.40s is not an RFC 3339 time, such as 2026-11-21T12:00:00Z", t.Value)})
	}
	return problem.InvalidJSON("The body must be one JSON object.")
}

// kindOf names the JSON value that a field of a Go type is read from.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a whole number"
}

// fieldsOf lists the JSON fields of a request, the inner ones as "filter.q".
func fieldsOf(t reflect.Type) (names []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		return nil
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
		for _, inner := range fieldsOf(f.Type) {
			names = append(names, name+"."+inner)
		}
	}
	return names
}

func (s *Server) makeRun(c *fiber.Ctx) error {
	if err := s.admitMaker(c); err != nil {
		return err
	}
	var body newRun
	if err := readBody(c, &body); err != nil {
		return err
	}
	first, last, err := s.tape.Span(c.UserContext())
	if err != nil {
		return err
	}
	run := Run{
		Name: strings.TrimSpace(body.Name), Model: strings.TrimSpace(body.Model), Filter: body.Filter, From: first, To: last,
		ModelCutoff: body.ModelCutoff, OpenWeb: body.OpenWeb, Bound: body.Bound, Pairs: body.Pairs,
	}
	if body.From != nil {
		run.From = database.Stored(*body.From)
	}
	if body.To != nil {
		run.To = database.Stored(*body.To)
	}
	if run.OpenWeb == "" {
		run.OpenWeb = WebUnknown
	}
	if wrong := run.check(first, last); len(wrong) > 0 {
		return problem.InvalidRequest(wrong...)
	}
	made, err := s.runs.Make(run)
	if err != nil {
		return err
	}
	answer := madeRun{
		OK: true, Run: made.Run.ID, OperatorToken: made.OperatorToken, From: made.Run.From, To: made.Run.To,
		BaseURL: s.base + prefix(made.Run.ID, "{T}"), ReportURL: s.base + root + "/" + made.Run.ID + "/report",
	}
	if made.AgentKey != "" {
		answer.AgentKey = &made.AgentKey
	}
	return respond(c, answer)
}

// check returns the invalid fields of a new run.
func (r *Run) check(first, last time.Time) (wrong []problem.Field) {
	add := func(field, format string, args ...any) {
		wrong = append(wrong, problem.Field{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	profile := agent.Profile{Name: r.Name, Model: r.Model}
	if refusal, ok := errors.AsType[*problem.Error](profile.Check()); ok {
		wrong = append(wrong, refusal.Fields...)
	}
	span := fmt.Sprintf("must be from %s to %s, the days of the archive", writeMoment(first), writeMoment(last))
	if r.From.Before(first) || !r.From.Before(last) {
		add("from", "%s", span)
	}
	if r.To.After(last) || !r.To.After(r.From) {
		add("to", "%s, and after from", span)
	}
	if !slices.Contains([]OpenWeb{WebOpen, WebClosed, WebUnknown}, r.OpenWeb) {
		add("openWeb", "must be yes, no or unknown")
	}
	if r.Filter.Category != "" && !slices.Contains(market.Categories, r.Filter.Category) {
		add("filter.category", "must be one of %s", strings.Join(market.Categories, ", "))
	}
	if len(r.Filter.IDs) > maxIDs {
		add("filter.ids", "may name at most %d markets", maxIDs)
	}
	if len(r.Filter.Q) > 200 || len(r.Filter.Tag) > 200 {
		add("filter", "q and tag may have at most 200 bytes")
	}
	if len(r.Pairs) > maxPairs {
		add("pairs", "may have at most %d entries", maxPairs)
	}
	for i := range r.Pairs {
		p := &r.Pairs[i]
		if p.At = database.Stored(p.At); p.Market == "" || p.At.Before(r.From) || p.At.After(r.To) {
			add(fmt.Sprintf("pairs[%d]", i), "must have a market and an at within the run")
			break
		}
	}
	return wrong
}

// makeKey makes a key for the agent of a run that is valid at one moment.
func (s *Server) makeKey(c *fiber.Ctx) error {
	run, err := s.operated(c)
	if err != nil {
		return err
	}
	var body struct {
		At string `json:"at"`
	}
	if err := readBody(c, &body); err != nil {
		return err
	}
	at, err := readMoment(body.At)
	if err == nil {
		err = s.checkMoment(c.UserContext(), run, at)
	}
	if err != nil {
		return err
	}
	key, err := s.runs.AddKey(run.ID, at)
	if err != nil {
		return err
	}
	return respond(c, struct {
		OK       bool   `json:"ok"`
		AgentKey string `json:"agentKey"`
		BaseURL  string `json:"baseUrl"`
	}{true, key, s.base + prefix(run.ID, writeMoment(at))})
}

// operated returns the run in the path, if the request has its operator token.
func (s *Server) operated(c *fiber.Ctx) (*Run, error) {
	run, err := s.runs.Find(strings.Clone(c.Params("run")))
	if err != nil {
		return nil, err
	}
	token := credential(c.Get(fiber.HeaderAuthorization))
	switch {
	case token == "":
		return nil, noToken()
	case !run.operates(token):
		return nil, problem.InvalidCredentials("This is not the operator token of the run. An agent's key doesn't open this.")
	}
	return run, nil
}

func noToken() error {
	return missing("Send Authorization: Bearer with the operatorToken that POST /r returned.")
}

func missing(detail string) error {
	p := problem.New(problem.CodeMissingCredentials, detail)
	p.Challenge = `Bearer realm="pulsecast replay"`
	return p
}

// admitMaker refuses requests that may not make runs.
func (s *Server) admitMaker(c *fiber.Ctx) error {
	if s.token == "" || subtle.ConstantTimeCompare([]byte(credential(c.Get(fiber.HeaderAuthorization))), []byte(s.token)) == 1 {
		return nil
	}
	return missing("To make a run here, send Authorization: Bearer with the token that the server was started with.")
}

func respond(c *fiber.Ctx, body any) error {
	out, err := answer.JSON(body)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(out)
}

// file serves the static files that pages load.
func file(c *fiber.Ctx) error {
	f, ok := static.Find(c.Path())
	if !ok {
		return problem.NotFound("There is no such file.")
	}
	body, coding := f.Encoded(httpserver.AcceptEncoding(c.Context(), static.Codings...))
	httpserver.Respond(c.Context(), httpserver.Representation{
		Body: body, Coding: coding, ContentType: f.ContentType, CacheControl: static.CacheControl,
	})
	return nil
}

// index answers GET /r with the archived days and where to go next.
func (s *Server) index(c *fiber.Ctx) error {
	days, err := s.tape.Days(c.UserContext())
	if err != nil {
		return err
	}
	answer := struct {
		OK    bool     `json:"ok"`
		About string   `json:"about"`
		Days  []string `json:"days"`
		Docs  string   `json:"docs"`
	}{true, "Replays of recorded days. POST /r makes a run; " + prefix("{run}", "{T}") + "/api/… answers as of T.", append([]string{}, days...), s.base + prefix("{run}", "{T}") + "/docs/backtest"}
	return respond(c, answer)
}
