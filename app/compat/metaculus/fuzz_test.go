package metaculus

import (
	"testing"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

// FuzzPosts checks that a query of posts is either refused with 400, or has values within the limits
// of a list.
func FuzzPosts(f *testing.F) {
	for _, seed := range []string{
		"", "limit=20&offset=40&statuses=open&forecast_type=binary", "tournaments=assignments&tournaments=Crypto&order_by=-hotness", "statuses=upcoming",
		"published_at__gt=2027-01-31&scheduled_close_time__lt=2027-01-31T00:00:00Z", "forecaster_id=-1", "offset=99999999999999999999", "limit=%zz", "open_time__gt=0000-01-01",
	} {
		f.Add(seed)
	}
	app := fiber.New()
	f.Fuzz(func(t *testing.T, query string) {
		c := app.AcquireCtx(&fasthttp.RequestCtx{})
		defer app.ReleaseCtx(c)
		c.Request().SetRequestURI("/compat/metaculus/posts/?" + query)
		q, err := parsePosts(c)
		if err != nil {
			if p := problem.As(err); p.Status != 400 || p.Detail == "" {
				t.Errorf("%q: %v", query, err)
			}
			return
		}
		if q.Limit < 1 || q.Limit > maxLimit || q.Offset < 0 || q.forecaster < 0 || len(q.Categories) > maxValues {
			t.Errorf("%q: %+v", query, q)
		}
	})
}

// FuzzBodies checks that a body is either refused, or holds probabilities and theses that can be
// stored.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{
		`[{"question": 123, "probability_yes": 0.62}]`, `[{"question": "1e9", "continuous_cdf": []}]`, `[{"probability_yes": 1e999}]`, `[{"probability_yes": -0.0}]`,
		`{"on_post": 123, "text": "Because \u202e \u0000"}`, `{"on_post": null}`, "\xff", `[[[[`,
	} {
		f.Add([]byte(seed))
	}
	app := fiber.New()
	f.Fuzz(func(t *testing.T, sent []byte) {
		c := app.AcquireCtx(&fasthttp.RequestCtx{})
		defer app.ReleaseCtx(c)
		c.Request().Header.SetContentType(fiber.MIMEApplicationJSON)
		c.Request().SetBody(sent)
		var list []forecastBody
		if err := readBody(c, &list, "an array"); err == nil {
			for i := range list {
				if p, wrong := list[i].probability(); wrong == "" && !(p >= 0 && p <= 1) {
					t.Errorf("%q: probability %v", sent, p)
				}
			}
		} else if p := problem.As(err); p.Status != 400 {
			t.Errorf("%q: %v", sent, err)
		}
		var comment commentBody
		if err := readBody(c, &comment, "an object"); err != nil {
			return
		}
		if text := thesisOf(comment.Text); utf8.RuneCountInString(text) > prediction.MaxThesis || plaintext.Check(text, true) != "" {
			t.Errorf("%q: thesis %q", sent, text)
		}
	})
}
