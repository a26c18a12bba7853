package web_test

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/web"
)

// TestBusyPageInWords checks that the page of a refusal shows its words for readers.
func TestBusyPageInWords(t *testing.T) {
	t.Parallel()
	var site web.Site
	app := fiber.New()
	app.Get("/", func(c *fiber.Ctx) error {
		p := problem.Unavailable("Send the Idempotency-Key again.", 0)
		p.Page = "Try again in a moment."
		return site.RenderError(c, p, "1")
	})
	res, err := app.Test(httptest.NewRequest("GET", "/", nil), -1)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil || strings.Contains(string(page), "Idempotency-Key") || !strings.Contains(string(page), "Try again in a moment.") {
		t.Errorf("%v %s", err, page)
	}
}
