package plaintext_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/plaintext"
)

func TestFold(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        "",
		" ?! ":                    "",
		"Will it rain in Oslo?":   "will it rain in oslo",
		"«ÖSTERREICH» – ELÄ\nin":  "österreich elä in",
		"100% of_it":              "100 of it",
		"МОСКВА, Ёлка; ΑΘΉΝΑ":     "москва ёлка αθήνα",
		"東京2027":                  "東京2027",
		"a\xffb":                  "a b",
		"Cafe\u0301s, caf\u00e9s": "caf\u00e9s caf\u00e9s",
		"हिन्दी, ไม่":             "हिन्दी ไม่",
		"ＦＩＦＡ ２０２６ ﬁnal":          "fifa 2026 final",
		"a \u0301b 1\ufe0f\u20e3": "a b 1\u20e3",
		"☀\ufe0f sun":             "sun",
	} {
		if got := plaintext.Fold(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if got := plaintext.Fold(want); got != want {
			t.Errorf("folding %q again gives %q", want, got)
		}
	}
}

func TestHasWord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, word string
		want       bool
	}{
		{"rates in houston", "rate", true},
		{"rates in houston", "houston", true},
		{"rates in houston", "us", false},
		{"houston russia us", "us", true},
		{"houston russia usa", "us", true},
		{"aaab aab", "aab", true},
		{"österreich", "sterreich", false},
		{"20 0000", "000", true},
		{"", "a", false},
	} {
		if got := plaintext.HasWord(c.text, c.word); got != c.want {
			t.Errorf("%q in %q: got %v", c.word, c.text, got)
		}
	}
}

// TestWords checks that a word counts once, however often and in whichever form it is written, and that 32 are allowed.
func TestWords(t *testing.T) {
	t.Parallel()
	numbers := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprint(&b, " w", i)
		}
		return b.String()
	}
	for _, c := range []struct {
		search string
		want   int
		wrong  string
	}{
		{"", 0, ""},
		{"?!", 0, ""},
		{"Oslo rain, OSLO; ｏｓｌｏ", 2, ""},
		{strings.Repeat("ﷺ ", 400), 4, ""},
		{strings.Repeat(numbers(32), 2), 32, ""},
		{numbers(33), 0, "may have at most 32 different words, got 33"},
	} {
		if words, wrong := plaintext.Words(c.search); len(words) != c.want || wrong != c.wrong {
			t.Errorf("%.40q: got %d words and %q, want %d and %q", c.search, len(words), wrong, c.want, c.wrong)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, text   string
		line, manyOf string // what the message must contain; "" if the text is allowed
	}{
		{"empty", "", "", ""},
		{"accents and emoji", "Ångström – 東京 👩‍👩‍👧 \u200f\u05d0", "", ""},
		{"flags", "🇳🇴 🏳️‍🌈 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "", ""},
		{"the replacement character itself", "a\ufffdb", "", ""},
		{"line break", "a\nb", "line break", ""},
		{"carriage return", "a\r\nb", "line break", ""},
		{"line separator", "a\u2028b", "line break", ""},
		{"tab", "a\tb", "U+0009", ""},
		{"NUL", "a\x00b", "U+0000", "U+0000"},
		{"escape", "a\x1b[31mb", "U+001B", "U+001B"},
		{"C1 control", "a\u0085b", "U+0085", "U+0085"},
		{"delete", "a\x7fb", "U+007F", "U+007F"},
		{"override", "a\u202eb", "U+202E", "U+202E"},
		{"embedding", "a\u202ab", "U+202A", "U+202A"},
		{"isolate", "a\u2066b", "U+2066", "U+2066"},
		{"lone byte", "a\xffb", "UTF-8", "UTF-8"},
		{"invalid after a replacement character", "\ufffd\xc3", "UTF-8", "UTF-8"},
		{"surrogate", "a\xed\xa0\x80", "UTF-8", "UTF-8"},
		{"joiners of Persian, Hindi and Sinhala", "می\u200cخواهم क्\u200dष ශ්\u200dරී", "", ""},
		{"a letter that joins on both sides", "\u200d\u0647\u200d", "", ""},
		{"variation selectors", "❤\ufe0f 1\ufe0f\u20e3 葛\U000e0100", "", ""},
		{"soft hyphen", "Zwangs\u00adversteigerung", "", ""},
		{"zero-width space", "gpt-5\u200b", "U+200B; leave it out", ""},
		{"word joiner", "a\u2060b", "U+2060; leave it out", ""},
		{"byte order mark", "\ufeffa", "U+FEFF; leave it out", ""},
		{"a run of zero-width spaces", "a\u200b\u2060\u200b\ufeffb", "4 invisible characters", "U+FEFF; leave it out"},
		{"Hangul filler", "a\u3164", "U+3164; leave it out", "U+3164; leave it out"},
		{"tags", "Will it rain?\U000e0041\U000e0042", "2 invisible characters to leave out, the first U+E0041", "the first U+E0041"},
		{"tags after a flag", "🏴\U000e0067\U000e0062\U000e0065\U000e007f\U000e0041", "U+E0041; leave it out", "U+E0041"},
		{"a flag of too many tags", "🏴" + strings.Repeat("\U000e0061", 8) + "\U000e007f", "9 invisible", "9 invisible"},
		{"a flag of capitals", "🏴\U000e0047\U000e0042\U000e0045\U000e007f", "4 invisible", "4 invisible"},
		{"a flag without an end", "🏴\U000e0067\U000e0062\U000e0065", "3 invisible", "3 invisible"},
		{"a run of variation selectors", "😀\ufe0f\U000e0101\U000e0102", "2 invisible characters to leave out, the first U+E0101", "2 invisible"},
		{"variation selectors between joiners", "😀\u200d\ufe00\u200d\ufe01a", "2 invisible", "2 invisible"},
		{"a variation selector after a space", "a \ufe0f", "U+FE0F; leave it out", "U+FE0F; leave it out"},
		{"a run of joiners", "a\u200d\u200c\u200d\u200c\u200db", "2 invisible", "2 invisible"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for multiline, want := range map[bool]string{false: c.line, true: c.manyOf} {
				got := plaintext.Check(c.text, multiline)
				if (got == "") != (want == "") || !strings.Contains(got, want) {
					t.Errorf("Check(%q, %v) = %q, want %q", c.text, multiline, got, want)
				}
			}
		})
	}
}

// TestLabels checks that a label has no invisible character at all, and is otherwise checked like a line.
func TestLabels(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{
		"":             "",
		"gpt-5":        "",
		"عربي":         "",
		"gpt-5\u200b":  "has the invisible character U+200B; leave it out",
		"gpt\u00ad-5":  "has the invisible character U+00AD; leave it out",
		"g\u200dpt-5":  "has the invisible character U+200D; leave it out",
		"gpt-5\u200f":  "has the invisible character U+200F; leave it out",
		"a\nb":         "has a line break; send a single line",
		"gpt-5-mini-x": "may be at most 10 characters, got 12",
	} {
		if got := plaintext.CheckLabel(label, 0, 10); got != want {
			t.Errorf("%q: got %q, want %q", label, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "äöüß": "äöüß", "äöüßx": "äöü…", "ab cd": "ab…",
		"a🏴\U000e0067\U000e0062\U000e0065\U000e007f": "a🏴…"} {
		if got := plaintext.Cut(text, 4); got != want {
			t.Errorf("Cut(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCheckLength(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text        string
		least, most int
		want        string
	}{
		{"", 0, 3, ""},
		{"", 1, 3, "is required: send 1 to 3 characters"},
		{"", 2, 3, "is required: send 2 to 3 characters"},
		{"ä", 2, 3, "must be 2 to 3 characters, got 1"},
		{"äöü", 1, 3, ""},
		{"äöüß", 1, 3, "may be at most 3 characters, got 4"},
		{"a\nb", 1, 3, "has a line break; send a single line"},
		{" ", 1, 3, "is required: send 1 to 3 characters"},
		{"\u200b", 1, 3, "is required: send 1 to 3 characters"},
		{"\u2060 \ufe0f", 1, 3, "is required: send 1 to 3 characters"},
		{"\u3164\u2800\u00a0", 2, 3, "is required: send 2 to 3 characters"},
		{"\u200d", 0, 3, ""},
		{"\u200ba", 1, 3, "has the invisible character U+200B; leave it out"},
		{"\u0301", 1, 3, ""},
	} {
		if got := plaintext.CheckLength(c.text, c.least, c.most, false); got != c.want {
			t.Errorf("%q, %d to %d: got %q, want %q", c.text, c.least, c.most, got, c.want)
		}
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, printable, line string }{
		{"plain text – é", "plain text – é", "plain text – é"},
		{"two\nlines\tand a tab", "two\nlines\tand a tab", "two lines and a tab"},
		{"\x1b[31mred\x1b[0m", " [31mred [0m", "[31mred [0m"},
		{"\x1b]0;title\x07", " ]0;title ", "]0;title"},
		{"back\b\rspace\x00\x7f", "back  space  ", "back space"},
		{"C1 \u009b31m", "C1  31m", "C1 31m"},
		{"bad \x9b31m", "bad \uFFFD31m", "bad \uFFFD31m"},
		{"turned \u202Etxet", "turned  txet", "turned txet"},
	} {
		if got := plaintext.Printable(c.text); got != c.printable {
			t.Errorf("Printable(%q) is %q, want %q", c.text, got, c.printable)
		}
		if got := plaintext.PrintableLine(c.text); got != c.line {
			t.Errorf("PrintableLine(%q) is %q, want %q", c.text, got, c.line)
		}
	}
}
