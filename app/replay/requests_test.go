package replay

import (
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// TestRefusedBodies checks that the refusal of a body says what to send.
func TestRefusedBodies(t *testing.T) {
	t.Parallel()
	app := fiber.New()
	for body, want := range map[string]string{
		`{"nome":"a"}`: "nome is not a field of this request, which has name, model, filter, filter.category, filter.tag, filter.q, " +
			"filter.ids, from, to, modelCutoff, openWeb, bound, pairs, pairs.market, pairs.at",
		`{"filter":{"ids":"1"}}`: "filter.ids must be an array, not a JSON string",
		`{"bound":1}`:            "bound must be true or false, not a JSON number",
		`{"name":{}}`:            "name must be a string, not a JSON object",
		`{"pairs":[1]}`:          "must be an object, not a JSON number",
	} {
		c := app.AcquireCtx(&fasthttp.RequestCtx{})
		c.Request().SetBodyString(body)
		if err := readBody(c, &newRun{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
		app.ReleaseCtx(c)
	}
}
