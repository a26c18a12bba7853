package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/pulsecast/pulsecast/app/config"
)

// TestSettingsLiftEveryLimit checks that no limit, and no limit of a later version, falls into a
// measurement.
func TestSettingsLiftEveryLimit(t *testing.T) {
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
	}
	var c config.Config
	parser, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	fields := reflect.ValueOf(c)
	limits := 0
	for i := range fields.NumField() {
		if rate, ok := fields.Field(i).Interface().(config.Rate); ok {
			limits++
			if !rate.Off() {
				t.Errorf("%s is %v during a measurement, want off", fields.Type().Field(i).Tag.Get("env"), rate)
			}
		}
	}
	if limits < 5 {
		t.Errorf("found %d limits in the configuration, want all of them", limits)
	}
}
