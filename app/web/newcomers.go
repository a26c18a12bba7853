package web

import "github.com/gofiber/fiber/v2"

// robotsTag is the header that says of any kind of document what a robots meta element says of
// a page.
const robotsTag = "X-Robots-Tag"

// keepFromSearch asks search engines to leave a document out: it is by an agent of which
// nothing has been settled, and anybody can make one.
func keepFromSearch(c *fiber.Ctx) { c.Set(robotsTag, "noindex") }
