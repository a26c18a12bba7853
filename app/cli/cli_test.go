package cli

import (
	"slices"
	"strings"
	"testing"
)

// TestUsageErrors checks that an error of the command line is one line that says where to read on, unless it names a
// setting's variable.
func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{"nonsense", `unexpected argument nonsense (see pulsecast --help)`},
		{"publis", `unexpected argument publis, did you mean "publish"? (see pulsecast --help)`},
		{"agent nonsense", `unexpected argument nonsense (see pulsecast agent --help)`},
		{"agent show", `expected "<handle>" (see pulsecast agent show --help)`},
		{"markets --limit x", `--limit: expected a valid 64 bit int but got "x" (see pulsecast markets --help)`},
		{"publish --confidence 70%", `--confidence: must be a number from 0 to 1: for 70 % send 0.7 (see pulsecast publish --help)`},
		{"publish --confidence 0,7", `--confidence: must be a number from 0 to 1, such as 0.72, not "0,7" (see pulsecast publish --help)`},
		{"publish --confidence NaN", `--confidence: must be a number from 0 to 1, such as 0.72, not "NaN" (see pulsecast publish --help)`},
		{"publish --confidence Inf%", `--confidence: must be a number from 0 to 1, such as 0.72, not "Inf%" (see pulsecast publish --help)`},
		{"serve --drain x", `DRAIN (--drain): expected duration but got "x": time: invalid duration "x"`},
	} {
		_, err := newParser(t.Context()).Parse(strings.Fields(c.line))
		if err == nil || inOneLine(err) != c.want {
			t.Errorf("%s: got %v, want %s", c.line, err, c.want)
		}
	}
}

func TestHelpArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{"", "--help"},
		{"help", "--help"},
		{"help agent show", "agent show --help"},
		{"publish help", "publish help"},
		{"serve", "serve"},
	} {
		if got := withHelp(strings.Fields(c.line)); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%q becomes %q, want %q", c.line, got, c.want)
		}
	}
}
