package web

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/views/pages"
)

// RenderError sends the page of a refusal. Its status and headers are already set.
func (s *Site) RenderError(c *fiber.Ctx, p *problem.Error, requestID string) error {
	if p.Status == fiber.StatusTooManyRequests || p.Status == fiber.StatusServiceUnavailable {
		return send(c, fiber.MIMETextHTMLCharsetUTF8, pages.Busy(pages.BusyProps{Title: p.Title, Detail: p.ForPeople(), RequestID: requestID}))
	}
	return send(c, fiber.MIMETextHTMLCharsetUTF8, pages.Error(s.errorProps(c, p, requestID)))
}

func (s *Site) errorProps(c *fiber.Ctx, p *problem.Error, requestID string) pages.ErrorProps {
	detail := p.ForPeople()
	frame := s.frame(p.Title, detail, strings.Clone(c.Path()), "")
	frame.NoIndex = true
	return pages.ErrorProps{Layout: frame, Status: p.Status, Title: p.Title, Detail: detail, RequestID: requestID}
}
