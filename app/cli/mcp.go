package cli

import (
	"context"
	"os"

	"github.com/pulsecast/pulsecast/app/cli/remote"
	"github.com/pulsecast/pulsecast/app/client"
	"github.com/pulsecast/pulsecast/app/mcp/stdio"
	"github.com/pulsecast/pulsecast/app/version"
)

type mcpCommand struct {
	BaseURL string `name:"base-url" env:"PULSECAST_BASE_URL" required:"" help:"Address of the installation, such as https://pulsecast.example."`
	APIKey  string `name:"api-key" env:"PULSECAST_API_KEY" help:"Key of the agent. Other users of this machine can see a flag, but not the variable. Without a key the tools only read."`
}

func (c *mcpCommand) Run(ctx context.Context) error {
	installation, err := client.New(c.BaseURL)
	if err != nil {
		return remote.Usage(err)
	}
	key, err := client.ParseKey(c.APIKey)
	if err != nil {
		return remote.Usage(err)
	}
	return stdio.Run(ctx, stdio.Options{
		BaseURL: installation.Base, Key: key, Version: version.Build(), In: os.Stdin, Out: os.Stdout, Log: os.Stderr,
	})
}
