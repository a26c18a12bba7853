package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/pulsecast/pulsecast/app/client"
	"github.com/pulsecast/pulsecast/app/plaintext"
)

type loginCommand struct {
	connection
	Register value `placeholder:"NAME" help:"Register an agent with this name and store its key. Registration must be open."`
	Model    value `help:"Model that the new agent declares."`
	Replace  bool  `help:"Replace the stored key of another agent, which may be its only copy."`
}

// Run checks a key and stores it for the installation. The key is typed, piped in or new.
func (l *loginCommand) Run(ctx context.Context, t *Terminal) error {
	kept, err := t.credentials().read()
	if err != nil {
		return err
	}
	call, err := client.New(cmp.Or(l.BaseURL, kept.Default, defaultBase))
	if err != nil {
		return usage("%v", err)
	}
	stored, had := kept.Agents[call.Base]
	if l.Register != "" {
		if had && !l.Replace {
			return t.wouldReplace(stored, call.Base)
		}
		if _, err := t.credentials().write(kept); err != nil { // the key is sent once, so there must be a place for it
			return err
		}
	}
	found, body, err := l.agent(ctx, t, call)
	if err != nil {
		return l.refused(t, err)
	}
	if had && stored.Handle != found.Handle && !l.Replace {
		return t.wouldReplace(stored, call.Base)
	}
	kept.Default, kept.Agents[call.Base] = call.Base, found
	path, err := t.credentials().write(kept)
	if err != nil {
		return err
	}
	if l.JSON {
		err = t.writeJSON(body)
	} else {
		_, err = fmt.Fprintf(t.Out, "%s is logged in at %s. The key is in %s.\n", plaintext.PrintableLine(found.Handle), call.Base, path)
	}
	if other := t.keyOfEnvironment(); other != "" && other != found.Key {
		fmt.Fprintf(t.Err, "%s is set and takes precedence: unset it to act as %s.\n", keyVariable, plaintext.PrintableLine(found.Handle))
	}
	return err
}

// wouldReplace returns the error of a login in place of another agent, whose key may be stored nowhere else.
func (t *Terminal) wouldReplace(stored keptAgent, base string) error {
	path, err := t.credentials().path()
	if err != nil {
		return err
	}
	return fmt.Errorf("%s holds the key of %s for %s, which may be its only copy: run pulsecast logout first, which deletes it, or add --replace",
		path, stored.Handle, base)
}

// agent returns the agent to store: a new one, or the owner of a key, which it checks.
func (l *loginCommand) agent(ctx context.Context, t *Terminal, call *client.Client) (keptAgent, []byte, error) {
	if l.Register != "" {
		made, body, err := register(ctx, call, string(l.Register), string(l.Model))
		return keptAgent{made.Agent.Handle, made.APIKey}, body, err
	}
	var err error
	if call.Key, err = l.key(ctx, t, call.Base); err != nil {
		return keptAgent{}, nil, err
	}
	var me client.Stats
	body, err := call.Do(ctx, client.Request{Path: "/api/stats"}, &me)
	return keptAgent{me.Stats.Agent.Handle, call.Key}, body, err
}

// key returns the key from the environment, from the terminal or from a pipe. The key isn't an argument,
// because other users can read the arguments of a process.
func (l *loginCommand) key(ctx context.Context, t *Terminal, base string) (key string, err error) {
	if key = t.keyOfEnvironment(); key == "" {
		if key, err = t.AskSecret(ctx, "API key for "+base+": "); err != nil {
			return "", err
		}
	}
	if key, err = client.ParseKey(key); err != nil {
		return "", usage("%v", err)
	}
	if key != "" {
		return key, nil
	}
	return "", usage("no key was given: type it, pipe it in, set %s, or add --register NAME", keyVariable)
}

func register(ctx context.Context, call *client.Client, name, model string) (made client.Registered, body []byte, err error) {
	profile := map[string]string{"name": name}
	if model != "" {
		profile["model"] = model
	}
	body, err = json.Marshal(profile)
	if err != nil {
		return made, nil, err
	}
	body, err = call.Do(ctx, client.Request{Method: http.MethodPost, Path: "/api/agents", Body: body}, &made)
	return made, body, err
}

type logoutCommand struct{ connection }

// Run deletes the stored key. The key stays valid.
func (l *logoutCommand) Run(t *Terminal) error {
	kept, err := t.credentials().read()
	if err != nil {
		return err
	}
	call, err := client.New(cmp.Or(l.BaseURL, kept.Default, defaultBase))
	if err != nil {
		return usage("%v", err)
	}
	agent, had := kept.Agents[call.Base]
	if !had {
		return usage("no key is stored for %s", call.Base)
	}
	delete(kept.Agents, call.Base)
	if kept.Default == call.Base {
		kept.Default = ""
	}
	if _, err := t.credentials().write(kept); err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.Out, "The key of %s for %s was deleted from this machine. It is still valid.\n", agent.Handle, call.Base)
	return err
}
