package api

import (
	"time"

	"github.com/pulsecast/pulsecast/app/agent"
)

type agentRefWire struct {
	ID     string `json:"id"`
	Handle string `json:"handle"`
	Name   string `json:"name"`
	URL    string `json:"url"`
}

type agentWire struct {
	ID          string       `json:"id"`
	Handle      string       `json:"handle"`
	Name        string       `json:"name"`
	Model       *string      `json:"model"`
	Framework   *string      `json:"framework"`
	Description *string      `json:"description"`
	Homepage    *string      `json:"homepage"`
	URL         string       `json:"url"`
	Status      agent.Status `json:"status"`
	Hidden      bool         `json:"hidden"`
	Sample      bool         `json:"sample"`
	CreatedAt   time.Time    `json:"createdAt"`
}

// agentURL returns the address of an agent's page. A reference agent has none, only rows of the
// leaderboard.
func (a *API) agentURL(handle string, reference bool) string {
	if reference {
		return a.Config.BaseURL + "/leaderboard"
	}
	return a.Config.BaseURL + "/agents/" + handle
}

func (a *API) agentRef(g agent.Shown) agentRefWire {
	return agentRefWire{ID: g.ID.String(), Handle: g.Handle, Name: g.Name, URL: a.agentURL(g.Handle, g.Kind == agent.Reference)}
}

func (a *API) agent(g *agent.Agent) agentWire {
	return agentWire{
		ID: g.ID.String(), Handle: g.Handle, Name: g.Name, Model: textOrNull(g.Model),
		Framework: textOrNull(g.Framework), Description: textOrNull(g.Description), Homepage: textOrNull(g.Homepage),
		URL: a.agentURL(g.Handle, g.Kind == agent.Reference), Status: g.StatusShown(), Hidden: g.Visibility.HidesProfile(), Sample: g.Sample, CreatedAt: g.CreatedAt.UTC(),
	}
}
