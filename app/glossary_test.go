package app_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// prose lists the extensions of files in which the rules about ordinary words hold.
var prose = []string{".templ", ".md", ".yaml"}

// synonyms are words that docs/glossary.md replaces. A rule holds in every source file, or only in
// files with one of its extensions. pending lists paths that are still to be renamed. Remove paths
// from it, and add none.
var synonyms = []struct {
	stem    string // lower-case part of every match; searching for it first is faster
	word    *regexp.Regexp
	write   string
	only    []string
	pending []string
}{
	{"veil", regexp.MustCompile(`\b([uU]n)?[vV]eil|Veil`), "visibility, hidden", nil, nil},
	{"yardstick", regexp.MustCompile(`(?i)yardstick`), "reference row", nil, nil},
	{"putaway", regexp.MustCompile(`\bputAway\b`), "hide", nil, nil},
	{"takeout", regexp.MustCompile(`\btakeOut\b`), "show", nil, nil},
	{"desk", regexp.MustCompile(`\b[dD]esk\b`), "the admin pages", nil, nil},
	{"stand", regexp.MustCompile(`\bstands? (higher|lower)\b`), "rank higher", nil, nil},
	{"restore", regexp.MustCompile(`\b[rR]estore(Prediction|Text)\b|\b(hid|hides?|hidden) (or|and) restore`), "show; a database is restored", nil, nil},
	{
		"standing",
		regexp.MustCompile(`(?i)\bstandings\b|standing_id|standingColumns|standingPrediction|type standing\b|\bstanding (prediction|forecast|score)`),
		"result, rank or open prediction", nil, []string{"app/score/"},
	},
	{
		"forecast",
		regexp.MustCompile(`(?i)\b(from|join|into|update|table|on) forecasts\b|(Table|TableExpr|copyTo|withoutIndexes)\("forecasts\b|\btype forecasts?\b|forecastColumns|\binsert forecast\b`),
		"predictions", nil, []string{"app/score/simulation/", "app/leaderboard/record_test.go"},
	},
	{
		"forecast",
		regexp.MustCompile(`(?i)\b(a|the|your|one|every|settled|open|published|publish|scores|these|those|their) forecasts?\b`),
		"a prediction; forecast is the verb", prose, nil,
	},
}

// sources lists the paths of the files that the glossary binds, relative to the repository.
func sources(t *testing.T) (paths []string) {
	t.Helper()
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "testdata" || path == "docs/decisions"):
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(path, "_templ.go") || path == "app/glossary_test.go" || path == "docs/glossary.md":
		case slices.Contains([]string{".go", ".templ", ".yaml", ".md", ".sql"}, filepath.Ext(path)):
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil || len(paths) < 300 {
		t.Fatalf("found %d source files: %v", len(paths), err)
	}
	return paths
}

// TestNoSynonyms checks that no source file uses a synonym from the glossary's list.
func TestNoSynonyms(t *testing.T) {
	t.Parallel()
	for _, path := range sources(t) {
		text, err := os.ReadFile("../" + path)
		if err != nil {
			t.Fatal(err)
		}
		lower := strings.ToLower(string(text))
		for _, s := range synonyms {
			if !strings.Contains(lower, s.stem) {
				continue
			}
			waits := slices.ContainsFunc(s.pending, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
			if waits || s.only != nil && !slices.Contains(s.only, filepath.Ext(path)) {
				continue
			}
			if at := s.word.FindIndex(text); at != nil {
				line := 1 + strings.Count(string(text[:at[0]]), "\n")
				t.Errorf("%s:%d: %q; write %s (docs/glossary.md)", path, line, text[at[0]:at[1]], s.write)
			}
		}
	}
}

// TestSynonymsAreFound checks that each rule finds its word and ignores similar ones.
func TestSynonymsAreFound(t *testing.T) {
	t.Parallel()
	for text, found := range map[string]bool{
		"a.Veil": true, "unveiled": true, "surveillance": false, "science desks": false,
		"yardsticks": true, "type Desk struct": true, "desktop": false,
		"others stand higher": true, "if the index stands above 100": false,
		"RestorePrediction(": true, "hidden or restored": true, "restore predictions from a backup": false,
		"FROM standings AS s": true, "an open prediction": false, "standing orders": false,
		"JOIN forecasts AS p": true, "type Forecast struct": true, "each agent forecasts": false,
		"publish forecasts with evidence": true, "when asked to forecast": false, "events that both forecast": false,
	} {
		got := false
		for _, s := range synonyms {
			got = got || strings.Contains(strings.ToLower(text), s.stem) && s.word.MatchString(text)
		}
		if got != found {
			t.Errorf("is %q a synonym: got %t", text, got)
		}
	}
}

var (
	glossaryRow   = regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]+ \| ([^|]+) \|$`)
	quoted        = regexp.MustCompile("`([^`]+)`")
	packageClause = regexp.MustCompile(`(?m)^package (\w+)$`)
	plainWord     = regexp.MustCompile(`^[a-zA-Z_]+$`)
)

// TestGlossary checks that every word is listed once and that its carriers exist.
func TestGlossary(t *testing.T) {
	t.Parallel()
	glossary, err := os.ReadFile("../docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{} // by package, and by extension
	for _, path := range sources(t) {
		text, err := os.ReadFile("../" + path)
		if err != nil {
			t.Fatal(err)
		}
		if name := packageClause.FindSubmatch(text); name != nil && !strings.HasSuffix(path, "_test.go") {
			texts[string(name[1])] += string(text)
		}
		texts[filepath.Ext(path)] += string(text)
	}
	rows := glossaryRow.FindAllStringSubmatch(string(glossary), -1)
	if len(rows) < 80 {
		t.Fatalf("%d words", len(rows))
	}
	seen := map[string]bool{}
	for _, row := range rows {
		word, carrier := row[1], row[2]
		if seen[word] && word != "Word" {
			t.Errorf("%s is listed twice", word)
		}
		seen[word] = true
		for _, name := range quoted.FindAllStringSubmatch(carrier, -1) {
			if !carried(texts, carrier, name[1]) {
				t.Errorf("%s: found no %s", word, name[0])
			}
		}
	}
}

// carried reports whether the carrier exists: a table, a package, a field or an address of the API,
// or an exported name of a package, which may include a field.
func carried(texts map[string]string, carrier, name string) bool {
	declares := func(text, pattern string) bool { return regexp.MustCompile(pattern).MatchString(text) }
	switch {
	case strings.Contains(carrier, "table `"+name+"`"):
		return declares(texts[".sql"], `CREATE (TABLE|VIEW) `+name+`\b`)
	case strings.Contains(carrier, "package `"+name+"`"):
		return texts[name] != ""
	case strings.HasPrefix(name, "/api/"):
		return strings.Contains(texts[".yaml"], strings.TrimSuffix(name, "*"))
	case plainWord.MatchString(name):
		return declares(texts[".yaml"], `(?m)^ +`+name+`:|name: `+name+`\b`)
	}
	parts := strings.Split(name, ".")
	text := texts[parts[0]]
	found := len(parts) > 1 && declares(text, `(?m)^(type |func |const |\t)`+parts[1]+`\b`)
	if len(parts) > 2 {
		found = found && declares(text, `(?m)^\t`+parts[2]+`\b|^func \([a-z]+ \*?`+parts[1]+`\) `+parts[2]+`\(`)
	}
	return found
}
