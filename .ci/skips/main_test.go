package main

import (
	"slices"
	"strings"
	"testing"
)

func TestUnjustified(t *testing.T) {
	const events = `{"Action":"output","Package":"p","Test":"TestStore","Output":"    a_test.go:1: TEST_POSTGRES_URL is not set\n"}
{"Action":"skip","Package":"p","Test":"TestStore"}
{"Action":"output","Package":"p","Test":"TestOther","Output":"    a_test.go:2: this machine has no IPv6\n"}
{"Action":"skip","Package":"p","Test":"TestOther"}
{"Action":"output","Package":"p","Test":"TestPass","Output":"talks of postgres\n"}
{"Action":"pass","Package":"p","Test":"TestPass"}
{"Action":"skip","Package":"q"}
`
	for _, c := range []struct {
		name, set string
		want      []string
	}{
		{"requirement missing", "", nil},
		{"the requirement is present", "TEST_POSTGRES_URL", []string{"p TestStore: TEST_POSTGRES_URL is set"}},
		{"another requirement is present", "TEST_REDIS_URL", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := unjustified(strings.NewReader(events), func(name string) string {
				if name == c.set {
					return "x"
				}
				return ""
			})
			if err != nil || !slices.Equal(got, c.want) {
				t.Fatalf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}
