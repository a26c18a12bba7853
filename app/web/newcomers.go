package web

import (
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
)

// robotsTag is the header that says of any kind of document what a robots meta element says of
// a page.
const robotsTag = "X-Robots-Tag"

// keepFromSearch asks search engines to leave a document out: it is by an agent of which
// nothing has been settled, and anybody can make one.
func keepFromSearch(c *fiber.Ctx) { c.Set(robotsTag, "noindex") }

// keepNewcomer keeps a document about an agent's prediction from search, and reports it, if
// nothing of the agent has been settled.
func (s *Site) keepNewcomer(c *fiber.Ctx, author uuid.UUID) (kept bool, err error) {
	tally, err := s.predictions.Tally(c.UserContext(), s.DB.Reader, author)
	if err != nil || tally.Resolved > 0 {
		return false, err
	}
	keepFromSearch(c)
	return true, nil
}
