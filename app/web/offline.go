package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/static"
	"github.com/pulsecast/pulsecast/views/layouts"
	"github.com/pulsecast/pulsecast/views/pages"
)

const offlinePath = "/offline"

// offlineFiles are the files that the offline page loads.
var offlineFiles = []string{"css/app.css", "js/theme.js", "js/page.js", "favicon.svg"}

// offline is the page that a service worker shows if the site can't be reached. It contains nothing
// that changes between two releases.
func (s *Site) offline(c *fiber.Ctx) error {
	return show(c, pages.Offline(s.offlineFrame()))
}

func (s *Site) offlineFrame() layouts.Props {
	return layouts.Props{
		Title: "No connection", Base: s.Config.BaseURL, Path: offlinePath,
		Version: s.Version, NoIndex: true, Offline: true,
	}
}

// siteRelease is what the service worker of one release stores.
type siteRelease struct {
	Cache string   `json:"cache"`
	Page  string   `json:"page"`
	Files []string `json:"files"`
}

// serviceWorker sends the script that stores the offline page. Browsers check it for changes, so a
// new release is seen at the next visit.
func (s *Site) serviceWorker(c *fiber.Ctx) error {
	script, err := s.worker()
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, "text/javascript; charset=utf-8")
	c.Set(fiber.HeaderCacheControl, "no-cache")
	return c.Send(script)
}

// makeWorker puts the stored addresses of this release in front of the script. The name of the
// cache is a hash of the script, the page and the addresses of its files.
func (s *Site) makeWorker() ([]byte, error) {
	source, ok := static.Named("sw.js")
	if !ok {
		return nil, problem.NotFound("There is no such file.")
	}
	var page bytes.Buffer
	if err := pages.Offline(s.offlineFrame()).Render(context.Background(), &page); err != nil {
		return nil, fmt.Errorf("render %s: %w", offlinePath, err)
	}
	r := siteRelease{Page: offlinePath}
	for _, name := range offlineFiles {
		r.Files = append(r.Files, static.Path(name))
	}
	sum := sha256.New()
	sum.Write(source.Content)
	sum.Write(page.Bytes())
	r.Cache = "offline-" + hex.EncodeToString(sum.Sum(nil)[:4])
	kept, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return append([]byte("const release = "+string(kept)+";\n\n"), source.Content...), nil
}
