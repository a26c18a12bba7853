package httpserver

import (
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// PathValue returns a parameter of the path, unescaped, because clients escape characters of ids. It
// returns "" if the escapes are broken. No record has the id "".
func PathValue(c *fiber.Ctx, name string) string {
	value, err := url.PathUnescape(strings.Clone(c.Params(name)))
	if err != nil {
		return ""
	}
	return value
}
