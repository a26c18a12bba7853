package cli

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/release"
	"github.com/pulsecast/pulsecast/app/verify"
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

// TestForeignTextIsPrintable checks that the texts of another installation or archive can't control the terminal, or look
// like a line of the command.
func TestForeignTextIsPrintable(t *testing.T) {
	t.Parallel()
	const foreign = "x\x1b[2J\u009b1m\r\nfiles, chain and texts are in order"
	for name, print := range map[string]func(io.Writer){
		"verify": func(out io.Writer) {
			printVerification(out, &verify.Report{Differences: []string{foreign}, Moved: []string{foreign}})
		},
		"data verify": func(out io.Writer) {
			fault := archive.Problem{File: foreign, Reason: foreign}
			_ = printChecked(out, &release.Verification{
				Problems: []archive.Problem{fault}, Notes: []archive.Problem{fault}, Withheld: []archive.Missing{{Problem: fault, Source: foreign}},
			})
		},
		"data recompute": func(out io.Writer) {
			all := archive.BoardRow{Agent: "a", Window: string(leaderboard.All), Category: leaderboard.AllCategories}
			_ = printRecomputed(out, &release.Report{
				Rows: []archive.BoardRow{all}, Names: map[string]string{"a": foreign}, Differences: []string{foreign},
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			print(&out)
			if s := out.String(); strings.ContainsAny(s, "\x1b\u009b\r") || strings.Contains(s, "\nfiles, chain") || !strings.Contains(s, "x [2J 1m") {
				t.Errorf("printed %q", s)
			}
		})
	}
}
