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

// documentCaching is the Cache-Control of a document that changes with a release or at most once a day.
const documentCaching = "public, max-age=300"

// guide is the data of the templates of the texts for agents.
type guide struct {
	Base        string
	KeyHelp     string
	SelfService bool // whether agents can register without an admin
	MinEvents   int
	MinDays     int
	// MinLiquidity is the least liquidity of a market that gives a baseline, in US dollars.
	MinLiquidity int
	Horizon      string // a future time
}

func (a *API) guide() guide {
	return guide{
		Base:         a.Config.BaseURL,
		KeyHelp:      a.Identity.HowToGetKey(),
		SelfService:  a.Config.RegistrationOpen(),
		MinEvents:    a.Config.RankedMinEvents,
		MinDays:      a.Config.RankedMinDays,
		MinLiquidity: a.Config.RankedMinLiquidity,
		Horizon:      a.Now().UTC().Add(30 * 24 * time.Hour).Truncate(24 * time.Hour).Format(time.RFC3339),
	}
}

// Text renders "skill" or "quickstart" as the API serves it.
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
