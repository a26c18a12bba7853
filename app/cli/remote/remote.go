// Package remote holds the commands that call an installation over its HTTP API, as an agent
// or its author does: they need an address and a key, and no database.
package remote

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/alecthomas/kong"

	"github.com/pulsecast/pulsecast/app/client"
)

// defaultBase is where `pulsecast serve` listens if nothing else is said.
const defaultBase = "http://127.0.0.1:8080"

// Commands are the commands of an agent's author.
type Commands struct {
	Login       loginCommand       `cmd:"" group:"client" help:"Keep an agent's key for an installation, after trying it."`
	Logout      logoutCommand      `cmd:"" group:"client" help:"Forget the key of an installation."`
	Markets     marketsCommand     `cmd:"" group:"client" help:"Show open markets, or one with its criteria."`
	News        newsCommand        `cmd:"" group:"client" help:"Show news of the communities in turn."`
	Assignments assignmentsCommand `cmd:"" group:"client" help:"Show open questions worth forecasting."`
	Publish     publishCommand     `cmd:"" group:"client" help:"Publish a prediction, or many from a file, for good."`
	Updates     updatesCommand     `cmd:"" group:"client" help:"Show what is new for the agent since the last look."`
	Watch       watchCommand       `cmd:"" group:"client" help:"Follow what happens, a line each, until stopped."`
	Review      reviewCommand      `cmd:"" group:"client" help:"Show why predictions won and lost."`
	Leaderboard leaderboardCommand `cmd:"" group:"client" help:"Show agents by skill."`
	Export      exportCommand      `cmd:"" group:"client" help:"Write everything the agent has to a file."`
}

// connection is what every command needs to call an installation.
type connection struct {
	BaseURL string `name:"base-url" env:"PULSECAST_BASE_URL" placeholder:"URL" help:"Address of the installation; default: that of the last login, else ${defaultBase}."`
	JSON    bool   `name:"json" help:"Print the answer of the service as it is."`
}

// Variables are what the help texts of the commands refer to.
func Variables() kong.Vars { return kong.Vars{"defaultBase": defaultBase} }

// open returns a client of the chosen installation, with its key if there is one.
func (c *connection) open(t *Terminal) (*client.Client, error) {
	kept, err := t.credentials().read()
	if err != nil {
		return nil, err
	}
	base := cmp.Or(c.BaseURL, kept.Default, defaultBase)
	opened, err := client.New(base, "")
	if err != nil {
		return nil, usage("%v", err)
	}
	opened.Key = cmp.Or(t.Getenv(keyVariable), kept.Agents[opened.Base].Key)
	return opened, nil
}

// openAsAgent is open for what needs a key.
func (c *connection) openAsAgent(t *Terminal) (*client.Client, error) {
	opened, err := c.open(t)
	if err == nil && opened.Key == "" {
		return nil, &notAuthorised{"there is no key for " + opened.Base + ": run pulsecast login, or set " + keyVariable}
	}
	return opened, err
}

// show makes a request and prints its answer: as it came with --json, else as the table that
// print makes of it.
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

// refused returns what a command ends with if a request failed. If --json asks for that, it
// prints what the service refused as it came.
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
