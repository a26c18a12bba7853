package release

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/pulsecast/pulsecast/app/archive"
)

// mirror writes two days with an agent, and with a post of Reddit on the first. It returns their folder.
func mirror(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	folder, previous := archive.OpenFolder(dir), ""
	for _, day := range []string{"2026-11-21", "2026-11-22"} {
		w := archive.NewDayWriter(folder, day, previous)
		agent := archive.TextRow{Record: "a1", Salt: []byte("0123456789abcdef"), Content: []byte(`{"handle":"anna"}`)}
		err := archive.WriteTable(t.Context(), w, archive.Agents, "", rows(archive.AgentRow{ID: "a1", Texts: archive.TextHash(agent.Salt, agent.Content)}))
		if err == nil {
			err = w.WriteTexts(t.Context(), archive.Agents, "", rows(agent))
		}
		if err == nil && previous == "" {
			err = archive.WriteTable(t.Context(), w, archive.News, "reddit", rows(archive.NewsRow{
				Item: "n1", Observed: archive.Observed{ObservedAt: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Source: "reddit"},
			}))
		}
		if err == nil {
			err = w.Finish(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		d, err := archive.OpenDay(t.Context(), folder, day)
		if err != nil {
			t.Fatal(err)
		}
		previous = d.Hash
	}
	return dir
}

func rows[T any](list ...T) func(yield func(T, error) bool) {
	return func(yield func(T, error) bool) {
		for _, row := range list {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// TestVerifyBelievesNoMirror checks that release.json, which the mirror under test writes, excuses only the absence of a
// file of a source.
func TestVerifyBelievesNoMirror(t *testing.T) {
	t.Parallel()
	const first, second = "days/2026-11-21/", "days/2026-11-22/"
	all := `{"withheld":["manifest.json","agents.parquet","texts/agents.parquet","news-reddit.parquet","texts.json","redactions.json"]}`
	edit := func(name, from, to string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			content := read(t, dir, name)
			changed := bytes.Replace(content, []byte(from), []byte(to), 1)
			if bytes.Equal(changed, content) {
				t.Fatalf("%s doesn't contain %q", name, from)
			}
			write(t, dir, name, changed)
		}
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		change   func(*testing.T, string)
		problems []string
		withheld int
	}{
		"nothing changed":              {func(*testing.T, string) {}, nil, 0},
		"a source is left out":         {remove(first + "news-reddit.parquet"), nil, 1},
		"a changed file of the source": {edit(first+"news-reddit.parquet", "n1", "n2"), []string{first + "news-reddit.parquet: its SHA-256 is "}, 0},
		"a changed table":              {edit(first+"agents.parquet", "a1", "a2"), []string{first + "agents.parquet: its SHA-256 is "}, 0},
		"an exported table is missing": {remove(second + "agents.parquet"), []string{second + "agents.parquet: the manifest names it, but it is missing"}, 0},
		"texts of a table are missing": {remove(second + "texts/agents.parquet"), []string{second + "texts/agents.parquet: texts.json names it, but it is missing"}, 0},
		"a rewritten day":              {edit(first+"manifest.json", `"schema": 1`, `"schema":  1`), []string{second + "manifest.json: it doesn't follow the day before"}, 0},
		"foreign texts":                {foreignTexts, []string{second + "texts/agents.parquet: 1 texts belong to no row; the first is of record \"a1\""}, 0},
		"foreign texts, not listed": {func(t *testing.T, dir string) {
			foreignTexts(t, dir)
			write(t, dir, second+"texts.json", []byte("[]"))
			write(t, dir, second+"redactions.json", []byte(`[{"table":"agents","record":"a1","reason":"closed","at":"2026-11-23T00:00:00Z"}]`))
		}, []string{second + "texts/agents.parquet: 1 texts belong to no row"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := mirror(t)
			c.change(t, dir)
			for _, day := range []string{first, second} {
				write(t, dir, day+WithheldName, []byte(all))
			}
			v, err := Verify(t.Context(), archive.OpenFolder(dir), func(int, int) {})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range v.Problems {
				got = append(got, p.Error())
			}
			if !slices.EqualFunc(got, c.problems, strings.HasPrefix) || len(v.Withheld) != c.withheld {
				t.Errorf("problems %q, want %q; %d files withheld, want %d", got, c.problems, len(v.Withheld), c.withheld)
			}
		})
	}
}

// foreignTexts adds a text to the last day that has no row, and lists the new file.
func foreignTexts(t *testing.T, dir string) {
	t.Helper()
	const day = "days/2026-11-22/"
	texts, err := parquet.Read[archive.TextRow](bytes.NewReader(read(t, dir, day+"texts/agents.parquet")), int64(len(read(t, dir, day+"texts/agents.parquet"))))
	if err != nil {
		t.Fatal(err)
	}
	texts = append(texts, archive.TextRow{Record: "a1", Salt: []byte("0123456789abcdef"), Content: []byte(`{"handle":"mallory"}`)})
	var b bytes.Buffer
	if err := parquet.Write(&b, texts, parquet.Compression(&parquet.Zstd)); err != nil {
		t.Fatal(err)
	}
	old := archive.Hash(read(t, dir, day+"texts/agents.parquet"))
	write(t, dir, day+"texts/agents.parquet", b.Bytes())
	write(t, dir, day+"texts.json", bytes.Replace(read(t, dir, day+"texts.json"), []byte(old), []byte(archive.Hash(b.Bytes())), 1))
}

// TestForeignTextsAreNotBelieved checks that a recomputation takes no handle from texts that belong to no row.
func TestForeignTextsAreNotBelieved(t *testing.T) {
	t.Parallel()
	dir := mirror(t)
	foreignTexts(t, dir)
	l := &loaded{names: map[string]string{}, owners: map[string]string{}}
	for _, day := range []string{"2026-11-21", "2026-11-22"} {
		d, err := archive.OpenDay(t.Context(), archive.OpenFolder(dir), day)
		if err != nil {
			t.Fatal(err)
		}
		l.decided = append(l.decided, d)
	}
	if err := l.readTexts(t.Context()); err != nil || l.names["a1"] != "anna" {
		t.Errorf("the handle is %q (error %v), want anna", l.names["a1"], err)
	}
}

// TestExpectedHash checks that a hash that was kept elsewhere finds a rewritten last day.
func TestExpectedHash(t *testing.T) {
	t.Parallel()
	dir := mirror(t)
	verify := func() *Verification {
		v, err := Verify(t.Context(), archive.OpenFolder(dir), func(int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	kept := verify().Hash()
	if kept != archive.Hash(read(t, dir, "days/2026-11-22/manifest.json")) {
		t.Errorf("the last hash is %q", kept)
	}
	for _, c := range []struct {
		day, hash, want string
	}{
		{"2026-11-22", kept, ""},
		{"2026-11-22", strings.ToUpper(kept), ""},
		{"2026-11-21", kept, "days/2026-11-21/manifest.json: its SHA-256 is "},
		{"2026-11-23", kept, "days/2026-11-23/manifest.json: it is missing or can't be read"},
	} {
		v := verify()
		v.Expect(c.day, c.hash)
		if (len(v.Problems) > 0) != (c.want != "") || c.want != "" && !strings.HasPrefix(v.Problems[0].Error(), c.want) {
			t.Errorf("%s: problems %q, want %q", c.day, v.Problems, c.want)
		}
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func write(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}
