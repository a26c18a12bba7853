package web

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/oauth"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/views/pages"
)

// RenderError sends the page of a refusal, as Markdown if the request prefers that. Its status and headers are already
// set.
func (s *Site) RenderError(c *fiber.Ctx, p *problem.Error, requestID string) error {
	detail := p.ForPeople()
	if prefersMarkdown(c) {
		c.Set(fiber.HeaderContentType, markdownUTF8)
		return c.SendString("# " + p.Title + "\n\n" + detail + "\n\nRequest " + requestID + "\n")
	}
	if p.Status == fiber.StatusTooManyRequests || p.Status == fiber.StatusServiceUnavailable {
		return send(c, fiber.MIMETextHTMLCharsetUTF8, pages.Busy(pages.BusyProps{Title: p.Title, Detail: detail, RequestID: requestID}))
	}
	frame := s.frame(p.Title, detail, strings.Clone(c.Path()), "")
	frame.NoIndex = true
	props := pages.ErrorProps{Layout: frame, Status: p.Status, Title: p.Title, Detail: detail, RequestID: requestID}
	if p.Code == problem.CodeInvalidParameter.Name && c.Method() == fiber.MethodGet {
		props.Restart = frame.Path
	}
	if invalid, ok := c.Locals(invalidKey{}).(*oauth.Invalid); ok {
		props.Back, props.BackTo = invalid.Location, inWords(invalid.Redirect)
	}
	return send(c, fiber.MIMETextHTMLCharsetUTF8, pages.Error(props))
}
