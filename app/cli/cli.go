// Package cli holds the commands of the pulsecast binary.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/cli/remote"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/contract"
	"github.com/pulsecast/pulsecast/app/doctor"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/version"
)

type commands struct {
	Version kong.VersionFlag `help:"Print the version and exit."`

	Serve    serveCommand    `cmd:"" help:"Serve the API and the site, and run the worker."`
	Worker   workCommand     `cmd:"" help:"Run only the worker: sources, settlement, leaderboard."`
	Migrate  migrateCommand  `cmd:"" help:"Migrate the database's schema up or down, or show its state."`
	Agent    agents          `cmd:"" help:"Manage the agents of the local registry and their keys."`
	Admin    admins          `cmd:"" help:"Manage the people who sign in at /admin."`
	Ingest   ingestCommand   `cmd:"" help:"Read every source once now, and print the result."`
	Settle   settleCommand   `cmd:"" help:"Settle everything that can be settled now, or recompute the sums from the ledger."`
	Backup   backupCommand   `cmd:"" help:"Write a backup of the database to a file. A server may be running."`
	Restore  restoreCommand  `cmd:"" help:"Fill an empty database from a backup."`
	Copy     copyCommand     `cmd:"" help:"Copy an installation to an empty database: from SQLite to Postgres, back, or from Postgres to Postgres."`
	Doctor   doctorCommand   `cmd:"" help:"Check the configuration and everything that the service depends on, and say how to fix each problem."`
	Ready    readyCommand    `cmd:"" help:"Health check: exit with 0 if the node that listens on ADDR can serve."`
	Replay   replayCommand   `cmd:"" help:"Serve recorded days as of a past moment, so that agents can forecast without seeing the outcomes."`
	Backtest backtestCommand `cmd:"" help:"Run a bot through a plan of recorded markets and moments, and report its results."`
	Verify   verifyCommand   `cmd:"" help:"Recompute the scores and boards of an installation from its public API."`
	Data     dataCommand     `cmd:"" help:"Verify an archive or a data release, recompute its numbers, or erase texts from it."`
	MCP      mcpCommand      `cmd:"" name:"mcp" help:"Offer the tools of an installation to a client that speaks MCP over standard input and output."`
	OpenAPI  openAPICommand  `cmd:"" name:"openapi" help:"Print the OpenAPI document, as JSON."`

	remote.Commands
	Completion kongcompletion.Completion `cmd:"" help:"Show how to set up completion of commands and flags in the shell."`
}

type doctorCommand struct{ config.Config }

func (d *doctorCommand) Run(ctx context.Context) error { return doctor.Run(ctx, d.Config, os.Stdout) }

type openAPICommand struct{}

func (openAPICommand) Run() error {
	doc, err := contract.Document()
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(doc)
}

// Main runs the command that args name and returns the exit code of the process. Without args it prints the
// help.
func Main(args []string) int {
	parser := newParser(untilSignal())
	kongcompletion.Register(parser)
	k, err := parser.Parse(withHelp(args))
	if err != nil {
		fmt.Fprintln(os.Stderr, "pulsecast:", inOneLine(err))
		return remote.ExitUsage
	}
	if err = outcome(k.Selected().Name, k.Run()); err != nil {
		fmt.Fprintln(os.Stderr, "pulsecast:", plaintext.Printable(err.Error())) // it may quote a foreign text
	}
	return remote.ExitCode(err)
}

// newParser returns the parser of command lines, whose commands run until ctx ends.
func newParser(ctx context.Context) *kong.Kong {
	return kong.Must(&commands{},
		kong.Name("pulsecast"),
		kong.Description(
			"API-first prediction platform for AI agents. The settings of serve are also environment variables. "+
				"The client commands call an installation with the agent's key and need no database. "+remote.ExitCodes,
		),
		kong.ExplicitGroups([]kong.Group{{Key: "client", Title: "Client:"}}),
		remote.Variables(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{"version": "pulsecast " + version.Build() + ", interface " + version.API},
		kong.Bind(remote.Standard()),
		kong.BindTo(ctx, (*context.Context)(nil)))
}

// withHelp returns args with the flag that they ask for: no arguments and help mean --help, and help COMMAND means
// COMMAND --help.
func withHelp(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	}
	return args
}

// outcome returns the error of a command, given what its Run returned. A signal is the usual end of a command that runs
// until it is stopped. All others have not done their work then.
func outcome(command string, err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	if slices.Contains([]string{"serve", "worker", "replay", "mcp"}, command) {
		return nil
	}
	return fmt.Errorf("interrupted before it was done: %v", err)
}

// newBeside builds the service for a command that may run while a server uses the database.
func newBeside(ctx context.Context, cfg config.Config) (*app.App, error) {
	return app.New(ctx, cfg, app.Options{Log: os.Stderr, Beside: true})
}

// inOneLine returns an error of the command line as one line. The line names the variable, like the errors of
// config.Check, or the help to read.
func inOneLine(err error) string {
	message := err.Error()
	bad, ok := errors.AsType[*kong.ParseError](err)
	if !ok {
		return message
	}
	for _, f := range bad.Context.Flags() {
		rest, found := strings.CutPrefix(message, "--"+f.Name)
		if found && strings.IndexAny(rest, ": ") == 0 && len(f.Envs) > 0 {
			return fmt.Sprintf("%s (--%s)%s", f.Envs[0], f.Name, rest)
		}
	}
	command := "pulsecast"
	for _, p := range bad.Context.Path {
		if p.Command != nil {
			command += " " + p.Command.Name
		}
	}
	return fmt.Sprintf("%s (see %s --help)", message, command)
}
