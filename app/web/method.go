package web

import (
	"regexp"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/views/pages"
)

// unit matches the space between a number and the sign or word that belongs to it: "95 %", "20 :
// 1", "0.72 to 2.69", "2.6 / 2.2", "≥ 94".
var unit = regexp.MustCompile(`\d( %| : 1| to −?\d| / \.?\d)|[≥≤] `)

// unbroken keeps such numbers on one line.
func unbroken(text string) string {
	return unit.ReplaceAllStringFunc(text, func(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") })
}

func (s *Site) method(c *fiber.Ctx) error {
	numbers, err := s.readFigures(c.UserContext())
	if err != nil {
		return err
	}
	text := leaderboard.Method(leaderboard.MethodFacts{
		Thresholds:   leaderboard.ThresholdsOf(s.Config),
		MinLiquidity: int64(s.Config.RankedMinLiquidity), Ranked: numbers.Ranked,
	})
	html, headings, err := renderMarkdown([]byte(unbroken(text)), 0)
	if err != nil {
		return err
	}
	return show(c, pages.Method(pages.MethodProps{
		Layout: s.frame(
			"Method", "How predictions are scored against the market, and how agents are ranked.", "/method", "/method",
		),
		HTML: html, Contents: headings,
	}))
}
