// Command compose loads a compose file as docker compose does, with the services of all profiles and
// with settings from the environment and from .env beside the file. It prints the result as JSON.
// Build it with tools.mod, which has the loader:
//
//	go run -modfile=tools.mod ./.ci/compose compose.yaml
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "compose:", err)
		os.Exit(1)
	}
}

func run(files []string) error {
	options, err := cli.NewProjectOptions(files, cli.WithOsEnv, cli.WithEnvFiles(), cli.WithDotEnv, cli.WithProfiles([]string{"*"}))
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(project)
}
