// Package web is the HTML edge. It parses addresses, calls the domain, maps the results to the
// props of a page and sends the page. It holds no rules, keeps no session and sets no cookie, so a
// page is the same for every reader.
package web

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/identity"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/memo"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/oauth"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/release"
	"github.com/pulsecast/pulsecast/app/signal"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/layouts"
)

// Dependencies are what the pages need from other packages.
type Dependencies struct {
	Config      *config.Config
	Version     string
	DB          *database.DB
	Now         func() time.Time
	Identity    *identity.Service
	Leaderboard *leaderboard.Store
	Moderation  *moderation.Service
	Changes     *generation.Watcher
	Groups      *market.Groups
	Markets     *signal.Feed[market.Market]
	News        *signal.Feed[news.Item]
	// Text renders the texts for agents: "skill" as Markdown and "quickstart" as a shell script.
	Text func(name string) ([]byte, error)
	// SignIn lets programs sign in for an agent. If nil, this isn't offered.
	SignIn *oauth.Server
	// Sample returns whether the database holds sample data.
	Sample func() bool
	// Release is the published part of the archive.
	Release *release.Catalogue
}

// Site serves the pages.
type Site struct {
	Dependencies

	agents      agent.Store
	markets     market.Store
	news        news.Store
	predictions prediction.Store
	assignments assignment.Store

	pages     *pageCache
	pictures  *pageCache
	figures   *memo.Cache[struct{}, leaderboard.Figures]
	choices   *memo.Cache[struct{}, leaderboard.Choices]
	sparks    *sparklines
	thumbs    *thumbnails
	cards     *cards
	readings  *httpserver.Places // of metadata documents of apps
	reference func() (*reference, error)
	worker    func() ([]byte, error)
}

// New makes the site.
func New(d Dependencies) *Site {
	s := &Site{Dependencies: d, sparks: newSparklines(), thumbs: newThumbnails(), cards: newCards()}
	s.readings = httpserver.NewPlaces(readingsAtOnce, readingsOfCaller)
	s.pages = newPageCache(d.Config.BaseURL, pageBounds, d.Changes.Side, d.Now)
	s.pictures = newPageCache(d.Config.BaseURL, pictureBounds, d.Changes.Side, d.Now)
	s.figures = memo.New[struct{}](memo.Options[leaderboard.Figures]{Size: 1, Now: d.Now, Stale: sharedStale})
	s.choices = memo.New[struct{}](memo.Options[leaderboard.Choices]{Size: 1, Now: d.Now, Stale: sharedStale})
	s.reference = sync.OnceValues(newReference)
	s.worker = sync.OnceValues(s.makeWorker)
	return s
}

const (
	// sharedFresh is the greatest age of figures and choices that many pages show.
	sharedFresh = 30 * time.Second
	// sharedStale is how much longer they are shown while another request reads them.
	sharedStale = 10 * time.Minute
)

// readFigures returns the figures of the whole service.
func (s *Site) readFigures(ctx context.Context) (leaderboard.Figures, error) {
	return s.figures.Get(ctx, struct{}{}, func(ctx context.Context) (leaderboard.Figures, time.Time, error) {
		f, err := s.Leaderboard.Figures(ctx, s.DB.Reader)
		return f, s.Now().Add(sharedFresh), err
	})
}

// readChoices returns the choices that the filters of lists offer.
func (s *Site) readChoices(ctx context.Context) (leaderboard.Choices, error) {
	return s.choices.Get(ctx, struct{}{}, func(ctx context.Context) (leaderboard.Choices, time.Time, error) {
		c, err := s.Leaderboard.Choices(ctx, s.DB.Reader, maxChoices)
		return c, s.Now().Add(sharedFresh), err
	})
}

// Forget drops every text in memory, after an admin hid or showed one. It drops the pages last,
// so that no page rendered later uses older choices.
func (s *Site) Forget() {
	s.choices.Forget()
	s.pages.forget()
	s.pictures.forget()
}

// when returns a time as pages show it.
func (s *Site) when(at time.Time) components.When {
	return components.When{At: at, Now: s.Now()}
}

// frame returns the props of the layout. path is the canonical path.
func (s *Site) frame(title, description, path, section string) layouts.Props {
	p := layouts.Props{
		Title: title, Description: description, Base: s.Config.BaseURL, Path: path, Section: section,
		Version: s.Version, Sample: s.Sample(),
	}
	p.Stale = s.stale()
	return p
}

// stale returns what the banner says about feeds that are out of date, or nil. If both are, it tells the older reading.
func (s *Site) stale() *layouts.Stale {
	markets, news := s.Markets.Stale(), s.News.Stale()
	readMarkets, readNews := s.Markets.Current().AsOf, s.News.Current().AsOf
	switch {
	case markets && news && readNews.Before(readMarkets):
		return &layouts.Stale{Feeds: "Market prices and news", Since: s.when(readNews)}
	case markets && news:
		return &layouts.Stale{Feeds: "Market prices and news", Since: s.when(readMarkets)}
	case markets:
		return &layouts.Stale{Feeds: "Market prices", Since: s.when(readMarkets)}
	case news:
		return &layouts.Stale{Feeds: "News", Since: s.when(readNews)}
	}
	return nil
}

// pageLife is the Cache-Control of pages, in seconds. A page is the same for every reader, and
// readers don't notice such a small age.
const pageLife = "public, max-age=10, stale-while-revalidate=30"

// show renders a page to a buffer, so that a failed page is never sent in part.
func show(c *fiber.Ctx, page templ.Component) error {
	if len(c.Response().Header.Peek(fiber.HeaderCacheControl)) == 0 {
		c.Set(fiber.HeaderCacheControl, pageLife)
	}
	return send(c, fiber.MIMETextHTMLCharsetUTF8, page)
}

func send(c *fiber.Ctx, contentType string, content templ.Component) error {
	var out bytes.Buffer
	if err := content.Render(c.UserContext(), &out); err != nil {
		return fmt.Errorf("render %s: %w", c.Path(), err)
	}
	c.Set(fiber.HeaderContentType, contentType)
	c.Response().SetBodyRaw(out.Bytes())
	return nil
}
