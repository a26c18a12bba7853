package config_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/config"
)

// TestVariablesAreDocumented checks that docs/configuration.md lists every variable.
func TestVariablesAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	fields := reflect.VisibleFields(reflect.TypeFor[config.Config]())
	seen := 0
	for _, field := range fields {
		name := field.Tag.Get("env")
		if name == "" {
			continue
		}
		seen++
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/configuration.md doesn't list %s", name)
		}
	}
	if seen < 30 {
		t.Errorf("%d variables were found", seen)
	}
}
