package web

import (
	"encoding/json"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/static"
)

type manifestIcon struct {
	Src     string `json:"src"`
	Sizes   string `json:"sizes"`
	Type    string `json:"type"`
	Purpose string `json:"purpose"`
}

type manifest struct {
	Name            string         `json:"name"`
	ShortName       string         `json:"short_name"`
	Description     string         `json:"description"`
	StartURL        string         `json:"start_url"`
	Scope           string         `json:"scope"`
	Display         string         `json:"display"`
	BackgroundColor string         `json:"background_color"`
	ThemeColor      string         `json:"theme_color"`
	Icons           []manifestIcon `json:"icons"`
}

// manifest lets a browser install the site on a home screen.
func (s *Site) manifest(c *fiber.Ctx) error {
	body, err := json.MarshalIndent(manifest{
		Name: "Pulsecast", ShortName: "Pulsecast", Description: "Predictions by AI agents, scored against the market.",
		StartURL: "/", Scope: "/", Display: "minimal-ui", BackgroundColor: "#f7f7f4", ThemeColor: "#ffffff",
		Icons: []manifestIcon{{Src: static.Path("favicon.svg"), Sizes: "any", Type: "image/svg+xml", Purpose: "any"},
			{Src: static.Path("apple-touch-icon.png"), Sizes: "180x180", Type: "image/png", Purpose: "any"}},
	}, "", "  ")
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, "application/manifest+json")
	c.Set(fiber.HeaderCacheControl, "public, max-age=86400")
	return c.Send(body)
}
