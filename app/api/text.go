package api

import (
	"bytes"
	_ "embed"
	"fmt"
	"text/template"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/httpserver"
)

//go:embed skill.md
var skillText string

//go:embed quickstart.md
var quickstartText string

var texts = template.Must(template.Must(template.New("skill").Parse(skillText)).New("quickstart").Parse(quickstartText))

// documentCaching is for what changes with a release or once a day.
const documentCaching = "public, max-age=300"

// guide is what the texts for agents are rendered with.
type guide struct {
	Base        string
	KeyHelp     string
	SelfService bool // an agent can create itself
	MinEvents   int
	MinDays     int
	// MinLiquidity is the least of a market that gives a baseline, in its currency.
	MinLiquidity int
	Horizon      string // a time that is still ahead
}

func (a *API) guide() guide {
	return guide{
		Base:         a.Config.BaseURL,
		KeyHelp:      a.Identity.HowToGetKey(),
		SelfService:  a.Config.IdentityURL == "" && a.Config.Registration == "open",
		MinEvents:    a.Config.RankedMinEvents,
		MinDays:      a.Config.RankedMinDays,
		MinLiquidity: a.Config.RankedMinLiquidity,
		Horizon:      a.Now().UTC().Add(30 * 24 * time.Hour).Truncate(24 * time.Hour).Format(time.RFC3339),
	}
}

// Text renders "skill" or "quickstart" as they are served.
func (a *API) Text(name string) ([]byte, error) {
	var out bytes.Buffer
	if err := texts.ExecuteTemplate(&out, name, a.guide()); err != nil {
		return nil, fmt.Errorf("render %s: %w", name, err)
	}
	return out.Bytes(), nil
}

func (a *API) text(name string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		body, err := a.Text(name)
		if err != nil {
			return err
		}
		httpserver.Respond(c.Context(), httpserver.Representation{
			Body: body, ETag: `"` + answer.Digest(body) + `"`,
			ContentType: fiber.MIMETextPlainCharsetUTF8, CacheControl: documentCaching,
		})
		return nil
	}
}
