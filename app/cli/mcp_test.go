package cli

import (
	"context"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/cli/remote"
)

// TestUnfitArguments checks that a wrong address, or a key that no header can hold, is refused as a wrong command line
// before a request is sent or a message is read.
func TestUnfitArguments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command interface{ Run(context.Context) error }
		want    string
	}{
		"mcp, key":        {&mcpCommand{BaseURL: "https://pulsecast.example", APIKey: "pc_one\npc_two"}, "of the API key is"},
		"mcp, address":    {&mcpCommand{BaseURL: "pulsecast.example"}, `"pulsecast.example" is not an http(s) address`},
		"verify, address": {&verifyCommand{BaseURL: "ftp://pulsecast.example"}, `"ftp://pulsecast.example" is not an http(s) address`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.command.Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v", err)
			}
			if code := remote.ExitCode(err); code != remote.ExitUsage {
				t.Errorf("exit code %d, want %d", code, remote.ExitUsage)
			}
		})
	}
}
