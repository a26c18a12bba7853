package httpserver

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gofiber/fiber/v2"
)

func TestOwnPage(t *testing.T) {
	t.Parallel()
	app := fiber.New()
	app.Post("/", func(c *fiber.Ctx) error {
		if !OwnPage(c, "https://pulsecast.example/base") {
			return fiber.ErrForbidden
		}
		return nil
	})
	for _, c := range []struct {
		name   string
		header http.Header
		own    bool
	}{
		{"no browser", nil, true},
		{"own page", http.Header{"Sec-Fetch-Site": {"same-origin"}}, true},
		{"opened by a person", http.Header{"Sec-Fetch-Site": {"none"}}, true},
		{"another subdomain", http.Header{"Sec-Fetch-Site": {"same-site"}}, false},
		{"another site", http.Header{"Sec-Fetch-Site": {"cross-site"}}, false},
		{"an unknown value", http.Header{"Sec-Fetch-Site": {"self"}}, false},
		{"another site with our origin", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://pulsecast.example"}}, false},
		{"our origin", http.Header{"Origin": {"https://pulsecast.example"}}, true},
		{"the origin of the request's host", http.Header{"Origin": {"https://inner.example:8443"}}, true},
		{"our host without TLS", http.Header{"Origin": {"http://pulsecast.example"}}, false},
		{"our host at another port", http.Header{"Origin": {"https://pulsecast.example:444"}}, false},
		{"another origin", http.Header{"Origin": {"https://evil.example"}}, false},
		{"an opaque origin", http.Header{"Origin": {"null"}}, false},
	} {
		req := httptest.NewRequest(http.MethodPost, "https://inner.example:8443/", nil)
		req.Header = c.header
		res, err := app.Test(req)
		if err != nil {
			t.Fatal(err)
		}
		if own := res.StatusCode == http.StatusOK; own != c.own {
			t.Errorf("%s: %d", c.name, res.StatusCode)
		}
		res.Body.Close()
	}
}
