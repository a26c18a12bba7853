package web

import (
	"strings"
	"testing"
)

func TestNamesIn(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]string{
		"":     "",
		"Will": "",
		"Will the Union Central Bank cut its rate before 3 December?": "Union Central Bank",
		"Will Kestria's unemployment rate rise?":                      "Kestria",
		"Will the Redmont Foxes beat the Lakeside Pilots, or Ada?":    "Redmont Foxes|Lakeside Pilots",
		"Who wins \"The Glass Meridian\" in March?":                   "The Glass Meridian",
		"Will the EU and the US agree?":                               "",
	} {
		if got := strings.Join(namesIn(question), "|"); got != want {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
	}
}
