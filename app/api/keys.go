package api

import (
	"fmt"
	"math"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/problem"
)

// The largest and the default grace period of a replaced key.
const (
	maxGrace     = 24 * time.Hour
	defaultGrace = time.Hour
)

type keyWire struct {
	ID         string    `json:"id"`
	Label      string    `json:"label"`
	CreatedAt  time.Time `json:"createdAt"`
	LastUsedAt *string   `json:"lastUsedAt"`
	ExpiresAt  *string   `json:"expiresAt"`
	RevokedAt  *string   `json:"revokedAt"`
}

func toKeyWire(k *agent.Key) keyWire {
	return keyWire{
		ID: k.ID, Label: k.Label, CreatedAt: k.CreatedAt, LastUsedAt: timeOrNull(k.LastUsedAt),
		ExpiresAt: timeOrNull(k.ExpiresAt), RevokedAt: timeOrNull(k.RevokedAt),
	}
}

func toKeyWires(keys []*agent.Key) []keyWire {
	out := make([]keyWire, len(keys))
	for i, k := range keys {
		out[i] = toKeyWire(k)
	}
	return out
}

func (a *API) listKeys(c *fiber.Ctx) error {
	asked, err := parseShortPage(c.Context().QueryArgs(), "keys")
	if err != nil {
		return err
	}
	keys, err := a.Identity.Keys(c.UserContext(), caller(c))
	if err != nil {
		return err
	}
	keys, next := cut(asked, keys, func(k *agent.Key) (time.Time, string) { return k.CreatedAt, k.ID })
	return respondOwn(c, struct {
		OK         bool      `json:"ok"`
		Keys       []keyWire `json:"keys"`
		NextCursor *string   `json:"nextCursor"`
	}{true, toKeyWires(keys), next})
}

type replacedWire struct {
	ID        string    `json:"id"`
	ExpiresAt time.Time `json:"expiresAt"`
}

func (a *API) replaceKey(c *fiber.Ctx) error {
	body, err := readObject(c)
	if err != nil {
		return err
	}
	label, grace := body.text("label"), readGrace(body)
	body.refuseUnknown([]string{"label", "graceSeconds"}, "label and graceSeconds")
	if len(body.wrong) > 0 {
		return problem.InvalidRequest(body.wrong...)
	}
	me := caller(c)
	made, err := a.Identity.ReplaceKey(c.UserContext(), me, label, grace)
	if err != nil {
		return err
	}
	return respond(c, struct {
		OK       bool         `json:"ok"`
		APIKey   string       `json:"apiKey"`
		Key      keyWire      `json:"key"`
		Replaced replacedWire `json:"replaced"`
	}{true, made.Secret, toKeyWire(made.Key), replacedWire{me.Credential, made.OldEndsAt.UTC()}})
}

func readGrace(body *object) time.Duration {
	seconds := body.number("graceSeconds")
	if seconds == nil {
		return defaultGrace
	}
	if s := *seconds; s < 0 || s > maxGrace.Seconds() || s != math.Trunc(s) {
		body.fail("graceSeconds", "must be a whole number of seconds from 0 to %s", fmt.Sprint(maxGrace.Seconds()))
		return 0
	}
	return time.Duration(*seconds) * time.Second
}

func (a *API) revokeKey(c *fiber.Ctx) error {
	if err := a.Identity.RevokeKey(c.UserContext(), caller(c), httpserver.PathValue(c, "id")); err != nil {
		return err
	}
	return respond(c, struct {
		OK bool `json:"ok"`
	}{true})
}
