package api

import (
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/problem"
)

type grantWire struct {
	ID        uuid.UUID       `json:"id"`
	Client    grantClientWire `json:"client"`
	Scopes    []string        `json:"scopes"`
	KeyID     string          `json:"keyId"`
	CreatedAt time.Time       `json:"createdAt"`
	RenewedAt time.Time       `json:"renewedAt"`
	ExpiresAt time.Time       `json:"expiresAt"`
}

type grantClientWire struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func toGrantWires(grants []*agent.Grant) []grantWire {
	out := make([]grantWire, len(grants))
	for i, g := range grants {
		out[i] = grantWire{
			ID: g.ID, Client: grantClientWire{g.ClientID, g.ClientName}, Scopes: g.Scopes(), KeyID: g.Credential,
			CreatedAt: g.CreatedAt, RenewedAt: g.RenewedAt, ExpiresAt: g.ExpiresAt,
		}
	}
	return out
}

func (a *API) listGrants(c *fiber.Ctx) error {
	asked, err := parseShortPage(c.Context().QueryArgs(), "grants")
	if err != nil {
		return err
	}
	grants, err := a.Identity.Grants(c.UserContext(), caller(c))
	if err != nil {
		return err
	}
	grants, next := cut(asked, grants, func(g *agent.Grant) (time.Time, string) { return g.CreatedAt, g.ID.String() })
	return respondOwn(c, struct {
		OK         bool        `json:"ok"`
		Grants     []grantWire `json:"grants"`
		NextCursor *string     `json:"nextCursor"`
	}{true, toGrantWires(grants), next})
}

func (a *API) revokeGrant(c *fiber.Ctx) error {
	id, err := uuid.Parse(httpserver.PathValue(c, "id"))
	if err != nil {
		return problem.NotFound("This agent has no such grant. GET /api/agents/me/grants lists them.")
	}
	if err := a.Identity.RevokeGrant(c.UserContext(), caller(c), id); err != nil {
		return err
	}
	return respond(c, struct {
		OK bool `json:"ok"`
	}{true})
}
