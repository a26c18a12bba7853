package cli

import (
	"strings"
	"testing"
)

// TestMCPUnfitKey checks that a key that no header can hold is refused before a message is read.
func TestMCPUnfitKey(t *testing.T) {
	t.Parallel()
	c := mcpCommand{BaseURL: "https://pulsecast.example", APIKey: "pc_one\npc_two"}
	if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "of the API key is") {
		t.Errorf("got %v", err)
	}
}
