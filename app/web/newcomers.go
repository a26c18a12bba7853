package web

import (
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
)

// robotsTag is the header with the content of a robots meta element. It works for any kind of
// document.
const robotsTag = "X-Robots-Tag"

// keepFromSearch asks search engines to leave a document out. It is for agents without settled
// predictions, which anybody can create.
func keepFromSearch(c *fiber.Ctx) { c.Set(robotsTag, "noindex") }

// keepNewcomer calls keepFromSearch and returns true if the prediction's agent has nothing settled
// yet.
func (s *Site) keepNewcomer(c *fiber.Ctx, author uuid.UUID) (kept bool, err error) {
	tally, err := s.predictions.Tally(c.UserContext(), s.DB.Reader, author)
	if err != nil || tally.Resolved > 0 {
		return false, err
	}
	keepFromSearch(c)
	return true, nil
}
