// Package web is the HTML edge: it parses addresses, calls the domain, maps what it
// answers to the props of a page and sends the page. It decides nothing, keeps no
// session and sets no cookie, so a page is the same for everybody.
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

// Registry hands out keys to those who ask.
type Registry interface {
	Register(ctx context.Context, profile agent.Profile, admit func(context.Context) error) (a *agent.Agent, apiKey string, err error)
	// HowToGetKey is one or two sentences on the way to a key.
	HowToGetKey() string
}

// Keys says whose an API key is.
type Keys interface {
	Authenticate(ctx context.Context, key string) (*identity.Principal, error)
}

// Dependencies are what the pages need of the house.
type Dependencies struct {
	Config      *config.Config
	Version     string
	DB          *database.DB
	Now         func() time.Time
	Identity    Registry
	Leaderboard *leaderboard.Store
	Moderation  *moderation.Service
	Changes     *generation.Watcher
	Markets     *signal.Feed[market.Market]
	News        *signal.Feed[news.Item]
	// Text renders the texts for agents: "skill", which is Markdown, and "quickstart",
	// which is a shell script.
	Text func(name string) ([]byte, error)
	// SignIn lets programs sign in for an agent, whose key Keys checks. nil: not offered.
	SignIn *oauth.Server
	Keys   Keys
	// Sample tells whether the database holds sample data.
	Sample func() bool
	// Release is what is published of the archive.
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
	reference func() (*reference, error)
	worker    func() ([]byte, error)
}

// New makes the site.
func New(d Dependencies) *Site {
	s := &Site{Dependencies: d, sparks: newSparklines(), thumbs: newThumbnails(), cards: newCards()}
	s.pages = newPageCache(d.Config.BaseURL, pageCacheSize, d.Now)
	s.pictures = newPageCache(d.Config.BaseURL, maxCards, d.Now)
	s.figures = memo.New[struct{}](memo.Options[leaderboard.Figures]{Size: 1, Now: d.Now, Stale: sharedStale})
	s.choices = memo.New[struct{}](memo.Options[leaderboard.Choices]{Size: 1, Now: d.Now, Stale: sharedStale})
	s.reference = sync.OnceValues(newReference)
	s.worker = sync.OnceValues(s.makeWorker)
	return s
}

const (
	// sharedFresh is how old figures and choices that many pages show may be.
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

// readChoices returns what the filters of lists offer.
func (s *Site) readChoices(ctx context.Context) (leaderboard.Choices, error) {
	return s.choices.Get(ctx, struct{}{}, func(ctx context.Context) (leaderboard.Choices, time.Time, error) {
		c, err := s.Leaderboard.Choices(ctx, s.DB.Reader, maxChoices)
		return c, s.Now().Add(sharedFresh), err
	})
}

// Forget drops every text kept in memory, after an admin hid or restored one. The pages
// go last, so that no page rendered later is made of older choices.
func (s *Site) Forget() {
	s.choices.Forget()
	s.pages.pages.Forget()
	s.pictures.pages.Forget()
}

// when is a moment as pages show it.
func (s *Site) when(at time.Time) components.When {
	return components.When{At: at, Now: s.Now()}
}

// frame is what the layout needs. path is the canonical one.
func (s *Site) frame(title, description, path, section string) layouts.Props {
	p := layouts.Props{
		Title: title, Description: description, Base: s.Config.BaseURL, Path: path, Section: section,
		Version: s.Version, Sample: s.Sample(),
	}
	if s.Markets.Stale() {
		p.Stale = append(p.Stale, layouts.Stale{Feed: "Market prices", Since: s.when(s.Markets.Current().AsOf)})
	}
	if s.News.Stale() {
		p.Stale = append(p.Stale, layouts.Stale{Feed: "News", Since: s.when(s.News.Current().AsOf)})
	}
	return p
}

// pageLife is how long a page may be reused, in seconds: it is the same for everybody,
// and a reader does not notice so small an age.
const pageLife = "public, max-age=10, stale-while-revalidate=30"

// show renders a page to a buffer, so that a page that fails is not half sent.
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
