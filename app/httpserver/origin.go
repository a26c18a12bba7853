package httpserver

import (
	"net/url"

	"github.com/gofiber/fiber/v2"
)

// OwnPage reports whether a request comes from a page of this service at baseURL, or from no page. Every current
// browser sets Sec-Fetch-Site, and a page can't set it; "none" is a person's own doing, such as opening a bookmark.
// Browsers leave it out for plain HTTP, so without it Origin is checked, which may also name the host that the
// request is for. A client that sends neither isn't a browser, so another site can't use it to send requests.
func OwnPage(c *fiber.Ctx, baseURL string) bool {
	if site := c.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin" || site == "none"
	}
	origin := c.Get(fiber.HeaderOrigin)
	if origin == "" {
		return true
	}
	base, err := url.Parse(baseURL)
	return err == nil && (origin == base.Scheme+"://"+base.Host || origin == base.Scheme+"://"+c.Hostname())
}
