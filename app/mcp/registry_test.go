package mcp

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pulsecast/pulsecast/app/goproxy"
	"github.com/pulsecast/pulsecast/app/version"
)

// registry is the module of the MCP registry, which holds the schemas of server.json.
const registry = "github.com/modelcontextprotocol/registry@v1.8.7"

// TestServerJSON checks that server.json follows the registry's schema and describes this service.
func TestServerJSON(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../server.json")
	if err != nil {
		t.Fatal(err)
	}
	var server struct {
		Schema  string `json:"$schema"`
		Version string
		Remotes []struct{ URL string }
	}
	if err := json.Unmarshal(text, &server); err != nil {
		t.Fatal(err)
	}
	if server.Version != version.API {
		t.Errorf("version %s, the interface has %s", server.Version, version.API)
	}
	for i, path := range []string{Path, PublicPath} {
		if i >= len(server.Remotes) || server.Remotes[i].URL != "https://{host}"+path {
			t.Errorf("remote %d of %+v is not %s", i, server.Remotes, path)
		}
	}
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	if err := registrySchema(t, server.Schema).Validate(document); err != nil {
		t.Error(err)
	}
}

// registrySchema compiles the schema with which the registry checks files.
func registrySchema(t *testing.T, address string) *jsonschema.Schema {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", registry).Output()
	var module struct{ Dir string }
	if failed, ok := errors.AsType[*exec.ExitError](err); ok && goproxy.Unreachable(append(out, failed.Stderr...)) {
		t.Skipf("server.json is not checked, because the module proxy can't be reached for %s: %s", registry, out)
	}
	if err != nil || json.Unmarshal(out, &module) != nil || module.Dir == "" {
		t.Fatalf("download %s: %v\n%s", registry, err, out)
	}
	edition := filepath.Base(strings.TrimSuffix(address, "/server.schema.json"))
	file, err := os.Open(filepath.Join(module.Dir, "internal", "validators", "schemas", edition+".json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	source, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(address, source); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(address)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
