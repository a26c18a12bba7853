package metaculus

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"mime"
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/source/sanitize"
)

// maxForecasts is the maximum number of forecasts in a request. The client sends one.
const maxForecasts = 20

// forecastBody is one element of the body. Options and CDF belong to questions that don't ask for
// yes or no.
type forecastBody struct {
	Question    json.Number     `json:"question"`
	Probability *float64        `json:"probability_yes"`
	Options     json.RawMessage `json:"probability_yes_per_category"`
	CDF         json.RawMessage `json:"continuous_cdf"`
}

// forecast accepts probabilities. Each counts as a publication, and Limits.Writes has counted one of them. A
// probability waits for its comment, unless the comment came first. Then both are published as a prediction.
func (a *API) forecast(limits *httpserver.Limits) fiber.Handler {
	return func(c *fiber.Ctx) error {
		list, err := readForecasts(c, limits.MaxWrites())
		if err != nil {
			return err
		}
		giveBack, err := limits.MoreWrites(c, len(list)-1, false)
		if err != nil {
			return err
		}
		stored, err := a.storeForecasts(c, list)
		if err == nil {
			return respond(c, fiber.StatusCreated, struct{}{})
		}
		if problem.As(err).Status >= fiber.StatusInternalServerError {
			giveBack(len(list) - stored)
		}
		return err
	}
}

// readForecasts reads the body, and refuses it if a probability is wrong. mostWrites is how many publications the
// limits allow at once, or 0.
func readForecasts(c *fiber.Ctx, mostWrites int) (list []forecastBody, err error) {
	if err := readBody(c, &list, `a JSON array: [{"question": 123, "probability_yes": 0.62}]`); err != nil {
		return nil, err
	}
	most := maxForecasts
	if mostWrites > 0 {
		most = min(most, mostWrites)
	}
	if len(list) == 0 || len(list) > most {
		return nil, problem.InvalidRequest(problem.Field{
			Field: "[]", Message: fmt.Sprintf("must hold 1 to %d forecasts, got %d", most, len(list)),
		})
	}
	for i, f := range list {
		if _, wrong := f.probability(); wrong != "" {
			return nil, problem.InvalidRequest(problem.Field{Field: fmt.Sprintf("[%d].probability_yes", i), Message: wrong})
		}
	}
	return list, nil
}

// storeForecasts stores forecasts after it has checked all of them, so that a refusal stores nothing. It returns how
// many it has stored.
func (a *API) storeForecasts(c *fiber.Ctx, list []forecastBody) (stored int, err error) {
	wanted := make([]prediction.Part, len(list))
	for i, f := range list {
		m, err := a.openQuestion(c, f.Question)
		if err != nil {
			return 0, err
		}
		p, _ := f.probability()
		wanted[i] = prediction.Part{Agent: *author(c), MarketID: m.ID, Confidence: &p}
		if err := a.checkPart(c, f.Question, wanted[i]); err != nil {
			return 0, err
		}
	}
	for i, part := range wanted {
		if _, _, err := a.Publisher.AddPart(c.UserContext(), part); err != nil {
			return i, err
		}
	}
	return len(list), nil
}

// checkPart refuses a part that can't be published. This API has no field reveal, so a refusal of its value says what
// to do instead.
func (a *API) checkPart(c *fiber.Ctx, question json.Number, part prediction.Part) error {
	err := a.Publisher.CheckPart(c.UserContext(), part)
	refusal, ok := errors.AsType[*problem.Error](err)
	if ok && slices.ContainsFunc(refusal.Fields, func(f problem.Field) bool { return f.Field == "reveal" }) {
		return problem.New(problem.CodeInvalidPrediction, fmt.Sprintf(
			"You have a prediction on question %s that is withheld until the question closes, and another one here would disclose its probability. Nothing was stored. Forecast another question, or send this one to POST /api/predictions with \"reveal\": \"close\".",
			question)).With(err)
	}
	return err
}

// probability returns the probability of a forecast, rounded to four decimals. wrong says what to
// send instead.
func (f *forecastBody) probability() (p float64, wrong string) {
	given := func(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
	switch {
	case f.Probability == nil && (given(f.Options) || given(f.CDF)):
		return 0, "is required: all questions here are answered with yes or no"
	case f.Probability == nil:
		return 0, "is required: the probability from 0 to 1 that the answer is yes"
	case math.IsNaN(*f.Probability) || *f.Probability < 0 || *f.Probability > 1:
		return 0, "must be a probability from 0 to 1, such as 0.62"
	}
	return math.Round(*f.Probability*1e4) / 1e4, ""
}

// openQuestion returns an open question.
func (a *API) openQuestion(c *fiber.Ctx, number json.Number) (*market.Market, error) {
	m, err := a.question(c.UserContext(), number.String())
	if err != nil {
		return nil, err
	}
	if m.Closed {
		return nil, problem.New(problem.CodeMarketClosed, fmt.Sprintf(
			"Question %s is closed; nothing was stored. Choose an open one from GET %s/posts/?statuses=open.", number, Base))
	}
	return m, nil
}

// commentBody is the body of a comment. is_private and included_forecast have no effect.
type commentBody struct {
	Post    json.Number `json:"on_post"`
	Text    string      `json:"text"`
	Private bool        `json:"is_private"`
	Parent  json.Number `json:"parent"`
}

type commentWire struct {
	ID        int64       `json:"id"`
	Author    userWire    `json:"author"`
	Post      json.Number `json:"on_post"`
	Text      string      `json:"text"`
	Private   bool        `json:"is_private"`
	CreatedAt string      `json:"created_at"`
}

// comment accepts the thesis of a prediction.
func (a *API) comment(c *fiber.Ctx) error {
	var body commentBody
	if err := readBody(c, &body, `a JSON object: {"on_post": 123, "text": "Because …"}`); err != nil {
		return err
	}
	if body.Parent != "" {
		return problem.InvalidRequest(problem.Field{Field: "parent", Message: "must be left out: comments here are theses of predictions, and there are no replies"})
	}
	text := thesisOf(body.Text)
	if text == "" {
		return problem.InvalidRequest(problem.Field{Field: "text", Message: "is required: the reasons for your forecast"})
	}
	m, err := a.openQuestion(c, body.Post)
	if err != nil {
		return err
	}
	part := prediction.Part{Agent: *author(c), MarketID: m.ID, Thesis: text}
	if err := a.checkPart(c, body.Post, part); err != nil {
		return err
	}
	id, _, err := a.Publisher.AddPart(c.UserContext(), part)
	if err != nil {
		return err
	}
	return respond(c, fiber.StatusCreated, commentWire{
		ID: numberOf(id), Author: userOf(author(c)), Post: body.Post, Text: text, CreatedAt: formatTime(a.Now()),
	})
}

// thesisOf makes a thesis of a comment. It removes characters that a thesis may not have and cuts a
// text that is too long, because bots send whole reports.
func thesisOf(comment string) string {
	return plaintext.Cut(sanitize.Prose(comment), prediction.MaxThesis)
}

// readBody decodes a JSON body. want describes the expected body.
func readBody(c *fiber.Ctx, into any, want string) error {
	if media, _, err := mime.ParseMediaType(c.Get(fiber.HeaderContentType)); err != nil || media != fiber.MIMEApplicationJSON {
		return problem.UnsupportedMediaType(c.Get(fiber.HeaderContentType))
	}
	if err := json.Unmarshal(c.Body(), into); err != nil {
		return problem.InvalidJSON("The body must be " + want + ".").With(err)
	}
	return nil
}
