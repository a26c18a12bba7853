package web

import (
	"encoding/xml"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/static"
)

// file serves the files of pages. The content at such an address never changes.
func (s *Site) file(c *fiber.Ctx) error {
	f, ok := static.Find(c.Path())
	if !ok {
		return problem.NotFound("There is no such file.")
	}
	sendFile(c, f, static.CacheControl)
	return nil
}

// icon serves an icon at the address where browsers look for it.
func icon(name string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		f, ok := static.Named(name)
		if !ok {
			return problem.NotFound("There is no such file.")
		}
		sendFile(c, f, "public, max-age=86400")
		return nil
	}
}

// clientFile serves a client program at an address that never changes.
func (s *Site) clientFile(c *fiber.Ctx) error {
	f, ok := static.Named("clients/" + c.Params("name"))
	if !ok {
		return problem.NotFound("There is no such file. /clients/pulsecast.py is one.")
	}
	sendFile(c, f, "public, max-age=3600")
	return nil
}

func sendFile(c *fiber.Ctx, f *static.File, cacheControl string) {
	body, coding := f.Encoded(httpserver.AcceptEncoding(c.Context(), static.Codings...))
	httpserver.Respond(c.Context(), httpserver.Representation{
		Body: body, Coding: coding, ContentType: f.ContentType, CacheControl: cacheControl,
	})
}

func (s *Site) robots(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMETextPlainCharsetUTF8)
	c.Set(fiber.HeaderCacheControl, "public, max-age=86400")
	return c.SendString(
		"User-agent: *\nDisallow: /admin\nDisallow: /compare?\n\nSitemap: " + s.Config.BaseURL + "/sitemap.xml\n",
	)
}

type sitemapURL struct {
	Loc     string `xml:"loc"`
	LastMod string `xml:"lastmod,omitempty"`
}

type sitemapXML struct {
	XMLName xml.Name     `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
	URLs    []sitemapURL `xml:"url"`
}

// sitemapPredictions is how many of the newest predictions a sitemap lists. Search engines find
// older ones through the lists.
const sitemapPredictions = 1000

var sitemapPages = []string{"/", "/leaderboard", "/markets", "/predictions", "/news", "/models", "/assignments", "/compare", "/method", "/changes", "/data", "/agents/new"}

// sitemap lists the main pages. It leaves out newcomers.
func (s *Site) sitemap(c *fiber.Ctx) error {
	var out sitemapXML
	add := func(path, day string) {
		out.URLs = append(out.URLs, sitemapURL{s.Config.BaseURL + path, day})
	}
	for _, path := range sitemapPages {
		add(path, "")
	}
	for _, entry := range guideMenu {
		add(entry.Path, "")
	}
	events := map[string]bool{"": true}
	for _, m := range s.Markets.Current().Records {
		add("/markets/"+url.PathEscape(m.ID), "")
		if !events[m.EventID] {
			events[m.EventID] = true
			add(eventPath(m.EventID), "")
		}
	}
	references, err := s.predictions.EstablishedReferences(c.UserContext(), s.DB.Reader, sitemapPredictions)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range references {
		r := &references[i]
		add("/predictions/"+r.ID.String(), r.CreatedAt.UTC().Format("2006-01-02"))
		if !seen[r.Handle] {
			seen[r.Handle] = true
			add("/agents/"+r.Handle, "")
		}
	}
	c.Set(fiber.HeaderCacheControl, "public, max-age=3600")
	return sendXML(c, "application/xml; charset=utf-8", out)
}

func sendXML(c *fiber.Ctx, contentType string, content any) error {
	body, err := xml.MarshalIndent(content, "", " ")
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(xml.Header)
	b.Write(body)
	c.Set(fiber.HeaderContentType, contentType)
	return c.SendString(b.String())
}
