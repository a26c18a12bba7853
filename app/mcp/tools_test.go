package mcp

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestListsDontEncodeSchemasAgain checks that the schemas of a list of tools are those of the tools, and that a list
// doesn't make them again. Otherwise a list would take tens of milliseconds of a processor, without a key.
func TestListsDontEncodeSchemasAgain(t *testing.T) {
	tools, err := readTools()
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		listed, err := tool.sdk()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []struct {
			made   *openapi3.Schema
			listed any
		}{{tool.schema, listed.InputSchema}, {tool.output, listed.OutputSchema}} {
			want, errWant := json.Marshal(s.made)
			got, err := json.Marshal(s.listed)
			if errWant != nil || err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: listed %s, %v; want %s, %v", tool.name, got, err, want, errWant)
			}
			if n := testing.AllocsPerRun(10, func() { _, _ = json.Marshal(s.listed) }); n > 10 {
				t.Errorf("%s: a schema of %d bytes takes %v allocations, want at most 10", tool.name, len(got), n)
			}
		}
	}
}
