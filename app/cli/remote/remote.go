// Package remote holds the commands that call an installation over its HTTP API, for agents and their
// authors. They need an address and a key, and no database.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/alecthomas/kong"

	"github.com/pulsecast/pulsecast/app/client"
)

// defaultBase is the default address of `pulsecast serve`.
const defaultBase = "http://127.0.0.1:8080"

// Commands are the commands of an agent's author.
type Commands struct {
	Login       loginCommand       `cmd:"" group:"client" help:"Check an agent's key and store it for an installation."`
	Logout      logoutCommand      `cmd:"" group:"client" help:"Delete the stored key of an installation."`
	Markets     marketsCommand     `cmd:"" group:"client" help:"Show open markets, or one market with its criteria."`
	News        newsCommand        `cmd:"" group:"client" help:"Show news, alternating between the communities."`
	Assignments assignmentsCommand `cmd:"" group:"client" help:"Show open questions worth forecasting."`
	Publish     publishCommand     `cmd:"" group:"client" help:"Publish a prediction, or many from a file, for good."`
	Updates     updatesCommand     `cmd:"" group:"client" help:"Show the agent's updates since the last call."`
	Watch       watchCommand       `cmd:"" group:"client" help:"Print updates as they happen, one per line, until stopped."`
	Review      reviewCommand      `cmd:"" group:"client" help:"Show where the agent wins and loses against the market."`
	Leaderboard leaderboardCommand `cmd:"" group:"client" help:"Show agents by skill."`
	Export      exportCommand      `cmd:"" group:"client" help:"Write all data of the agent to a file."`
}

// connection holds the flags of every command that calls an installation.
type connection struct {
	BaseURL string `name:"base-url" env:"PULSECAST_BASE_URL" placeholder:"URL" help:"Address of the installation; default: the address of the last login, else ${defaultBase}."`
	JSON    bool   `name:"json" help:"Print the service's answer unchanged."`
}

// value is a flag or an argument that isn't empty if it is given. An empty one comes from a variable that isn't set, and
// must not count as left out: a prediction would be published on the default outcome, or a list shown without its filter.
type value string

// UnmarshalText implements encoding.TextUnmarshaler.
func (v *value) UnmarshalText(given []byte) error {
	if len(bytes.TrimSpace(given)) == 0 {
		return errors.New("is empty: give a value, or leave it out")
	}
	*v = value(given)
	return nil
}

// Variables returns the variables in the commands' help texts.
func Variables() kong.Vars { return kong.Vars{"defaultBase": defaultBase} }

// open returns a client of the chosen installation, with its key if there is one.
func (c *connection) open(t *Terminal) (*client.Client, error) {
	kept, err := t.credentials().read()
	if err != nil {
		return nil, err
	}
	base := cmp.Or(c.BaseURL, kept.Default, defaultBase)
	opened, err := client.New(base)
	if err != nil {
		return nil, usage("%v", err)
	}
	if opened.Key, err = client.ParseKey(cmp.Or(t.keyOfEnvironment(), kept.Agents[opened.Base].Key)); err != nil {
		return nil, usage("%v", err)
	}
	return opened, nil
}

// openAsAgent is like open, but fails if there is no key.
func (c *connection) openAsAgent(t *Terminal) (*client.Client, error) {
	opened, err := c.open(t)
	if err == nil && opened.Key == "" {
		return nil, &notAuthorised{"there is no key for " + opened.Base + ": run pulsecast login, or set " + keyVariable}
	}
	return opened, err
}

// show makes a request and prints its answer, unchanged with --json, otherwise with print.
func show[T any](ctx context.Context, c *connection, t *Terminal, call *client.Client, r client.Request, print func(T) error) error {
	var answer T
	body, err := call.Do(ctx, r, &answer)
	if err != nil {
		return c.refused(t, err)
	}
	if c.JSON {
		return t.writeJSON(body)
	}
	return print(answer)
}

// refused returns the error of a failed request. With --json it prints the service's refusal unchanged.
func (c *connection) refused(t *Terminal, err error) error {
	if errors.Is(err, context.Canceled) {
		return errCutShort
	}
	if body := refusalBody(err); c.JSON && body != nil {
		if err := t.writeJSON(body); err != nil {
			return err
		}
	}
	return err
}

func (t *Terminal) writeJSON(body []byte) error {
	if _, err := t.Out.Write(body); err != nil {
		return err
	}
	_, err := io.WriteString(t.Out, "\n")
	return err
}
