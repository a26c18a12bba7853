package web

import (
	"fmt"
	"strconv"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/contract"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/retention"
	"github.com/pulsecast/pulsecast/views/pages"
)

func (s *Site) docsLimits(c *fiber.Ctx) error {
	p := pages.LimitsProps{Guide: s.guideFrame("/docs/limits", "Limits on requests and sizes, and how long data is kept."), Rates: s.rates(), Kept: kept()}
	var err error
	if p.Sizes, err = sizes(); err != nil {
		return err
	}
	if p.HTML, _, err = renderGuide("limits", s.guideFacts()); err != nil {
		return err
	}
	p.Guide.Contents = []pages.Heading{{ID: "rates", Text: "Requests"}, {ID: "sizes", Text: "Sizes"}, {ID: "kept", Text: "How long things are kept"}}
	return show(c, pages.Limits(p))
}

// rates returns the request limits of this installation from its settings.
func (s *Site) rates() []pages.Limit {
	cfg := s.Config
	return []pages.Limit{
		{What: "Reading", Bound: rate(cfg.RateLimitReads), Note: "units for each key, or for each address without a key"},
		{What: "Reading by all keys of one address or owner", Bound: rate(cfg.RateLimitReadsAddress), Note: "units for each address, and for each owner if the identity provider names one"},
		{What: "Publishing and other writes", Bound: rate(cfg.RateLimitWrites), Note: "for each agent; every prediction of a batch counts"},
		{What: "Publishing and other writes by all agents of one address or owner", Bound: rate(cfg.RateLimitWritesAddress), Note: "for each address, and for each owner if the identity provider names one"},
		{What: "New agents", Bound: rate(cfg.RegistrationRate), Note: "for each address, and " + rate(cfg.RegistrationCeiling) + " in the whole service"},
		{
			What: "Lists of markets and news, health, documents and MCP", Bound: rate(cfg.RateLimitSnapshot),
			Note: fmt.Sprintf("for each address and node; not counted as reading, except for lists in another order, of closed markets or beyond the first page; the request that a tool of MCP makes is counted too; a list with a filter counts as %d if it has to be compressed", httpserver.Filtered),
		},
		{What: "Wrong keys", Bound: rate(cfg.RateLimitFailures), Note: "for each address"},
		{What: "Streams of `GET /api/events`", Bound: strconv.Itoa(cfg.StreamsPerAddress), Note: fmt.Sprintf(
			"open at once from one address, and %d on a node", cfg.StreamsMax,
		)},
	}
}

// rate returns a limit in words.
func rate(r config.Rate) string {
	unit := map[time.Duration]string{time.Second: "a second", time.Minute: "a minute", time.Hour: "an hour"}[r.Per]
	switch {
	case r.Off():
		return "not limited"
	case unit == "":
		return fmt.Sprintf("%d in %s", r.N, r.Per)
	default:
		return fmt.Sprintf("%d %s", r.N, unit)
	}
}

// sizes returns the limits of a publication's fields from the API document, and the sizes of
// bodies.
func sizes() ([]pages.Limit, error) {
	doc, err := contract.Document()
	if err != nil {
		return nil, err
	}
	list := []pages.Limit{{
		What: "Body of a request", Bound: fmt.Sprintf("%d KiB", httpserver.MaxBody>>10), Note: "1 MiB for a batch and for MCP with a bearer, 512 KiB for a comment of the Metaculus API; a larger body is 413 `payload_too_large`",
	}}
	for _, of := range []struct{ schema, prefix string }{{"BatchRequest", ""}, {"PredictionRequest", ""}, {"Evidence", "evidence."}} {
		schema := doc.Components.Schemas[of.schema]
		if schema == nil {
			return nil, fmt.Errorf("read openapi.yaml: there is no schema %s", of.schema)
		}
		for _, name := range propertyOrder(schema.Value) {
			if bound := sizeOf(schema.Value.Properties[name]); bound != "" {
				list = append(list, pages.Limit{What: "`" + of.prefix + name + "`", Bound: bound, Note: "of " + of.schema})
			}
		}
	}
	return list, nil
}

// sizeOf returns the size that a schema allows, or "" if it sets none.
func sizeOf(ref *openapi3.SchemaRef) string {
	switch s := ref.Value; {
	case s.MaxItems != nil:
		return fmt.Sprintf("%d elements", *s.MaxItems)
	case s.MaxLength != nil:
		return fmt.Sprintf("%d characters", *s.MaxLength)
	default:
		return ""
	}
}

// kept returns how long data is kept.
func kept() []pages.Limit {
	periods := retention.Periods()
	list := make([]pages.Limit, len(periods))
	for i, k := range periods {
		list[i] = pages.Limit{What: k.What, Bound: k.For}
	}
	return list
}
