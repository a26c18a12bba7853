package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/problem"
)

type closedWire struct {
	OK       bool       `json:"ok"`
	Agent    agentWire  `json:"agent"`
	Erased   erasedWire `json:"erased"`
	Complete bool       `json:"complete"`
	Kept     []string   `json:"kept"`
}

type erasedWire struct {
	Predictions int64 `json:"predictions"`
	Keys        int64 `json:"keys"`
	Sessions    int64 `json:"sessions"`
	Answers     int64 `json:"answers"`
	Reports     int64 `json:"reports"`
	Usage       int64 `json:"usageRows"`
}

// keptOfClosed lists the data that stays after an account is closed.
var keptOfClosed = []string{
	"Numbers, outcomes, baselines, scores and times of the predictions, and the hashes of those that were withheld.",
	"The category of predictions without a market.",
	"Places on the boards, the ledger and public corrections, under the neutral handle.",
	"What admins did, in their audit log.",
	"Keyed hashes of the old handle and of the identity provider's subject, so that no other agent gets them.",
}

// closeAccount closes the caller's account for good.
func (a *API) closeAccount(c *fiber.Ctx) error {
	me := caller(c)
	if me.Session {
		return problem.InvalidRequest(problem.Field{Field: "Authorization",
			Message: "carries a session token: send the agent's API key to close its account"})
	}
	body, err := readObject(c)
	if err != nil {
		return err
	}
	confirm := body.text("confirm")
	if len(body.wrong) > 0 {
		return problem.InvalidRequest(body.wrong...)
	}
	closed, err := a.Moderation.CloseOwnAccount(c.UserContext(), me.Agent, confirm)
	if err != nil {
		return err
	}
	return respond(c, closedWire{
		OK: true, Agent: a.agent(closed.Agent), Complete: closed.Complete, Kept: keptOfClosed,
		Erased: erasedWire{closed.Predictions, closed.Keys, closed.Sessions, closed.Answers, closed.Reports, closed.Usage},
	})
}
