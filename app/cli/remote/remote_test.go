package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/pulsecast/pulsecast/app/client"
)

// console is the terminal of a test, with a separate settings folder.
type console struct {
	*Terminal
	out, err bytes.Buffer
	dir      string
	ctx      context.Context // nil: the test's context
	canceled bool            // the latest command ended with context.Canceled
}

func newConsole(t *testing.T, typed string) *console {
	t.Helper()
	c := &console{dir: t.TempDir()}
	c.Terminal = &Terminal{
		In: strings.NewReader(typed), Out: &c.out, Err: &c.err, Getenv: func(string) string { return "" },
		ConfigDir: func() (string, error) { return c.dir, nil },
	}
	return c
}

// run runs a command line and returns its exit code.
func (c *console) run(t *testing.T, args ...string) int {
	t.Helper()
	var commands Commands
	ctx := c.ctx
	if ctx == nil {
		ctx = t.Context()
	}
	parser, err := kong.New(&commands, Variables(), kong.Bind(c.Terminal), kong.BindTo(ctx, (*context.Context)(nil)),
		kong.ExplicitGroups([]kong.Group{{Key: "client"}}))
	if err != nil {
		t.Fatal(err)
	}
	k, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintln(&c.err, err)
		return ExitUsage
	}
	err = k.Run()
	c.canceled = errors.Is(err, context.Canceled)
	if err != nil {
		fmt.Fprintln(&c.err, err)
	}
	return ExitCode(err)
}

// service answers like Pulsecast. It counts publications and dry runs.
func service(t *testing.T, published *int) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/stats":
			io.WriteString(w, `{"ok":true,"stats":{"agent":{"handle":"ada"}}}`)
		case "/api/agents/me/updates":
			io.WriteString(w, `{"ok":true,"events":[],"cursor":"c"}`)
		case "/api/predictions":
			if r.URL.Query().Get("dryRun") != "true" {
				*published++
			}
			io.WriteString(w, `{"ok":true,"prediction":{"url":"https://p.example/1","agent":{"handle":"ada"}},"readAs":"72 % that Yes","warnings":["It is far."]}`)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestEmptyFlags checks that a flag from a variable that isn't set is refused and named, and that nothing is sent. Otherwise
// a prediction would be published on the default outcome, and a list shown without its filter.
func TestEmptyFlags(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(new(Commands), Variables(), kong.ExplicitGroups([]kong.Group{{Key: "client"}}))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range parser.Model.Leaves(true) {
		for _, flag := range command.Flags {
			if flag.IsBool() || flag.Name == "base-url" { // the variable PULSECAST_BASE_URL may be empty
				continue
			}
			for _, empty := range []string{"", " "} {
				_, err := parser.Parse([]string{command.Name, "--" + flag.Name, empty})
				if err == nil || !strings.Contains(err.Error(), "--"+flag.Name) {
					t.Errorf("%s --%s %q: %v", command.Name, flag.Name, empty, err)
				}
			}
		}
	}
	published := 0
	for _, args := range [][]string{
		{"publish", "--market", "m", "--outcome", "", "--confidence", "0.7", "--thesis", "t", "--yes"},
		{"markets", ""}, {"review", ""}, {"watch", "--types", "a", "--types="},
	} {
		c := newConsole(t, "")
		if code := c.run(t, append(args, "--base-url", service(t, &published))...); code != ExitUsage || !strings.Contains(c.err.String(), "is empty: give a value") {
			t.Errorf("%q: exit code %d, %s", args, code, &c.err)
		}
	}
	if published != 0 {
		t.Errorf("%d predictions were published", published)
	}
}

// TestPublishAsks checks that a person sees the prediction and decides, and that without a terminal only
// --yes publishes.
func TestPublishAsks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		asks      bool
		typed     string
		flags     []string
		published int
		code      int
		says      string
	}{
		{"yes", true, "y\n", nil, 1, ExitOK, "https://p.example/1"},
		{"no", true, "n\n", nil, 0, ExitFailed, "nothing was published"},
		{"no answer", true, "", nil, 0, ExitFailed, "nothing was published"},
		{"a script", false, "", nil, 0, ExitUsage, "add --yes"},
		{"a script that knows", false, "", []string{"--yes"}, 1, ExitOK, "https://p.example/1"},
		{"a check", false, "", []string{"--dry-run"}, 0, ExitOK, "note: It is far."},
		{"no confidence", true, "y\n", nil, 0, ExitUsage, "--confidence P"},
		{"the input is taken", true, "", []string{"--thesis=-"}, 0, ExitUsage, "add --yes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			published := 0
			console := newConsole(t, c.typed)
			console.Asks = c.asks
			console.Getenv = func(name string) string { return map[string]string{keyVariable: "pc_key"}[name] }
			args := []string{"publish", "--base-url", service(t, &published), "--market", "m", "--thesis", "x"}
			if c.name != "no confidence" {
				args = append(append(args, "--confidence", "0.72"), c.flags...)
			}
			code := console.run(t, args...)
			said := console.out.String() + console.err.String()
			if code != c.code || published != c.published || !strings.Contains(said, c.says) {
				t.Errorf("exit %d, %d published; want %d, %d and %q:\n%s", code, published, c.code, c.published, c.says, said)
			}
			if asked := console.err.String(); c.asks && c.code != ExitUsage && (!strings.Contains(asked, "72 % that Yes") || !strings.Contains(asked, "Publish it for good as ada?")) {
				t.Errorf("the question doesn't show the prediction and its agent:\n%s", asked)
			}
		})
	}
}

// TestPublishingABatchAsks checks that a person sees the notes of every item before the question, but no page, and can
// still publish the items that the check doesn't refuse.
func TestPublishingABatchAsks(t *testing.T) {
	t.Parallel()
	const fine = `{"status":200,"prediction":{"url":"https://p.example/1","agent":{"handle":"ada"}},"readAs":"72 % that Yes","warnings":["It is far."]}`
	const wrong = `{"status":422,"error":{"code":"invalid_prediction","detail":"No thesis."}}`
	for _, c := range []struct {
		name, results, typed string
		published            int
		code                 int
		asks, says, hides    string
	}{
		{"yes", fine, "y\n", 1, ExitOK, "note on item 1: It is far.\nnote: It is late.\nThis was a dry run. Publish it for good as ada?", "https://p.example/1", ""},
		{"no", fine, "n\n", 0, ExitFailed, "note on item 1: It is far.", "", "https://p.example/1"},
		{"one is refused", fine + "," + wrong, "y\n", 1, ExitRefused, "1 of 2 predictions were refused. Publish the others for good as ada?", "https://p.example/1", ""},
		{"all are refused", wrong, "y\n", 0, ExitRefused, "1 of 1 predictions were refused", "", "Publish"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			published := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("dryRun") != "true" {
					published++
				}
				io.WriteString(w, `{"ok":true,"results":[`+c.results+`],"warnings":["It is late."]}`)
			}))
			t.Cleanup(s.Close)
			file := filepath.Join(t.TempDir(), "batch.json")
			if err := os.WriteFile(file, []byte("[{}]"), 0o600); err != nil {
				t.Fatal(err)
			}
			console := newConsole(t, c.typed)
			console.Asks = true
			console.Getenv = func(name string) string { return map[string]string{keyVariable: "pc_key"}[name] }
			code := console.run(t, "publish", file, "--base-url", s.URL)
			if code != c.code || published != c.published || !strings.Contains(console.err.String(), c.asks) || !strings.Contains(console.out.String(), c.says) {
				t.Errorf("exit %d, %d published; want %d, %d\n%s%s", code, published, c.code, c.published, &console.err, &console.out)
			}
			if c.hides != "" && strings.Contains(console.err.String()+console.out.String(), c.hides) {
				t.Errorf("it shows %q:\n%s%s", c.hides, &console.err, &console.out)
			}
		})
	}
}

// TestInterruptedQuestion checks that Ctrl-C at the question publishes nothing and is no success.
func TestInterruptedQuestion(t *testing.T) {
	t.Parallel()
	in, typing := io.Pipe()
	defer typing.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	terminal := newConsole(t, "").Terminal
	terminal.In = in
	if agreed, err := terminal.confirm(ctx, "?"); agreed || ExitCode(err) != ExitFailed || errors.Is(err, context.Canceled) {
		t.Errorf("%t, %v", agreed, err)
	}
}

// TestLoginKeepsTheKey checks that the key of a login is used only for its installation, and that only its
// user can read it.
func TestLoginKeepsTheKey(t *testing.T) {
	t.Parallel()
	published := 0
	base, other := service(t, &published), service(t, &published)
	c := newConsole(t, "pc_key\n")
	if code := c.run(t, "login", "--base-url", base+"/"); code != ExitOK || !strings.Contains(c.out.String(), "ada is logged in") {
		t.Fatalf("exit %d\n%s%s", code, &c.out, &c.err)
	}
	path := filepath.Join(c.dir, "pulsecast", "credentials.json")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if folder, err := os.Stat(filepath.Dir(path)); err != nil || folder.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", folder, err)
	}
	publish := []string{"publish", "--yes", "--market", "m", "--confidence", "0.5", "--thesis", "x"}
	if code := c.run(t, publish...); code != ExitOK || published != 1 {
		t.Errorf("the last login is the default: exit %d\n%s", code, &c.err)
	}
	if code := c.run(t, append(publish, "--base-url", other)...); code != ExitNotAuthorised {
		t.Errorf("another installation: exit %d", code)
	}
	if code := c.run(t, "logout"); code != ExitOK {
		t.Errorf("logout: exit %d\n%s", code, &c.err)
	}
	if code := c.run(t, append(publish, "--base-url", base)...); code != ExitNotAuthorised || published != 1 {
		t.Errorf("after the logout: exit %d", code)
	}
}

// TestLoginSparesAnotherKey checks that a login doesn't replace the stored key of another agent, which may be its only
// copy, unless --replace is given, and that it says so if the environment has another key.
func TestLoginSparesAnotherKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, stored, typed, variable string
		flags                         []string
		registered                    int
		code                          int
		says, key                     string // key is the one that is stored at the end
	}{
		{"a new agent", "", "", "", []string{"--register", "Bob"}, 1, ExitOK, "bob is logged in", "pc_bob"},
		{"a new agent instead of ada", "ada", "", "", []string{"--register", "Bob"}, 0, ExitFailed, "--replace", "pc_ada"},
		{"a new agent replaces ada", "ada", "", "", []string{"--register", "Bob", "--replace"}, 1, ExitOK, "bob is logged in", "pc_bob"},
		{"a key of bob instead of ada's", "ada", "pc_bob\n", "", nil, 0, ExitFailed, "the key of ada", "pc_ada"},
		{"a key of bob replaces ada's", "ada", "pc_bob\n", "", []string{"--replace"}, 0, ExitOK, "bob is logged in", "pc_bob"},
		{"another key of bob", "bob", "pc_bob-2\n", "", nil, 0, ExitOK, "bob is logged in", "pc_bob-2"},
		{"the environment has ada's key", "", "", "pc_ada", []string{"--register", "Bob"}, 1, ExitOK, "unset it to act as bob", "pc_bob"},
		{"the environment has the same key", "", "", " pc_bob\n", nil, 0, ExitOK, "bob is logged in", "pc_bob"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			registered := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/api/agents" {
					registered++
					io.WriteString(w, `{"ok":true,"agent":{"handle":"bob"},"apiKey":"pc_bob"}`)
					return
				}
				handle, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer pc_"), "-")
				fmt.Fprintf(w, `{"ok":true,"stats":{"agent":{"handle":%q}}}`, handle)
			}))
			t.Cleanup(s.Close)
			console := newConsole(t, c.typed)
			console.Getenv = func(name string) string { return map[string]string{keyVariable: c.variable}[name] }
			kept := keptCredentials{Agents: map[string]keptAgent{"https://other.example": {"eve", "pc_eve"}}}
			if c.stored != "" {
				kept.Agents[s.URL] = keptAgent{c.stored, "pc_" + c.stored}
			}
			if _, err := console.credentials().write(kept); err != nil {
				t.Fatal(err)
			}
			code := console.run(t, append([]string{"login", "--base-url", s.URL}, c.flags...)...)
			said := console.out.String() + console.err.String()
			if code != c.code || registered != c.registered || !strings.Contains(said, c.says) {
				t.Errorf("exit %d, %d registered; want %d, %d and %q:\n%s", code, registered, c.code, c.registered, c.says, said)
			}
			if warned := strings.Contains(said, "unset it"); warned != strings.Contains(c.says, "unset it") {
				t.Errorf("it says\n%s", said)
			}
			kept, err := console.credentials().read()
			if err != nil || kept.Agents[s.URL].Key != c.key || kept.Agents["https://other.example"].Key != "pc_eve" {
				t.Errorf("stored: %+v, %v; want %s", kept, err, c.key)
			}
		})
	}
}

// TestUnfitKey checks that a key that no header can hold is refused as such, wherever it comes from, and that nothing is
// sent.
func TestUnfitKey(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s was sent", r.Method, r.URL) }))
	t.Cleanup(s.Close)
	const unfit = "pc_one\npc_two"
	for _, c := range []struct{ name, variable, stored, typed, command string }{
		{"in the environment", unfit, "", "", "review"},
		{"at a login", unfit, "", "", "login"},
		{"typed", "", "", "pc_\x00\n", "login"},
		{"stored", "", unfit, "", "review"},
	} {
		console := newConsole(t, c.typed)
		console.Getenv = func(name string) string { return map[string]string{keyVariable: c.variable}[name] }
		if _, err := console.credentials().write(keptCredentials{Agents: map[string]keptAgent{s.URL: {"ada", c.stored}}}); err != nil {
			t.Fatal(err)
		}
		if code := console.run(t, c.command, "--base-url", s.URL); code != ExitUsage || !strings.Contains(console.err.String(), "of the API key is") {
			t.Errorf("%s: exit %d\n%s", c.name, code, &console.err)
		}
	}
}

// TestLoginAfterNull checks that a settings file with null counts as empty.
func TestLoginAfterNull(t *testing.T) {
	t.Parallel()
	c := newConsole(t, "pc_key\n")
	folder := filepath.Join(c.dir, "pulsecast")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"credentials.json": `{"agents":null}`, "updates.json": "null"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	base := service(t, new(int))
	for _, command := range []string{"login", "updates"} {
		if code := c.run(t, command, "--base-url", base); code != ExitOK {
			t.Errorf("%s: exit %d\n%s", command, code, &c.err)
		}
	}
}

// TestExitCodes checks that the service's answer decides the exit code.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]int{
		400: ExitRefused, 401: ExitNotAuthorised, 403: ExitNotAuthorised, 404: ExitRefused, 409: ExitRefused,
		422: ExitRefused, 429: ExitRateLimited, 500: ExitUnavailable, 503: ExitUnavailable,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			problem := fmt.Sprintf(`{"ok":false,"code":"c%d","detail":"No.","errors":[],"requestId":"r"}`, status)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(status)
				io.WriteString(w, problem)
			}))
			t.Cleanup(s.Close)
			c := newConsole(t, "")
			if code := c.run(t, "markets", "--json", "--base-url", s.URL); code != want {
				t.Errorf("exit %d; want %d\n%s", code, want, &c.err)
			}
			if c.out.String() != problem+"\n" || !strings.Contains(c.err.String(), "No.") {
				t.Errorf("it prints %q and %q", &c.out, &c.err)
			}
		})
	}
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<h1>Sign in</h1>") }))
	t.Cleanup(foreign.Close)
	c := newConsole(t, "")
	if code := c.run(t, "markets", "--base-url", foreign.URL); code != ExitUnavailable || !strings.Contains(c.err.String(), "did not answer like Pulsecast") {
		t.Errorf("a foreign answer: exit %d\n%s", code, &c.err)
	}
	if code := c.run(t, "markets", "--base-url", "nowhere"); code != ExitUsage {
		t.Errorf("a bad address: exit %d", code)
	}
	if code := c.run(t, "markets", "--nothing"); code != ExitUsage {
		t.Errorf("a bad flag: exit %d", code)
	}
}

// TestRefusedPublication checks that --json prints the problem once: for one prediction, for several, and
// for a refused dry run before the question.
func TestRefusedPublication(t *testing.T) {
	t.Parallel()
	const problem = `{"ok":false,"code":"invalid_prediction","detail":"No.","errors":[],"requestId":"r"}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		io.WriteString(w, problem)
	}))
	t.Cleanup(s.Close)
	one, several := filepath.Join(t.TempDir(), "one.json"), filepath.Join(t.TempDir(), "several.json")
	if err := errors.Join(os.WriteFile(one, []byte("{}"), 0o600), os.WriteFile(several, []byte("[{}]"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{one, several} {
		for _, flag := range []string{"--yes", "--dry-run", "--json"} {
			c := newConsole(t, "y\n")
			c.Asks = true
			c.Getenv = func(name string) string { return map[string]string{keyVariable: "pc_key"}[name] }
			if code := c.run(t, "publish", file, "--json", flag, "--base-url", s.URL); code != ExitRefused || c.out.String() != problem+"\n" {
				t.Errorf("%s %s: exit %d, %q\n%s", filepath.Base(file), flag, code, &c.out, &c.err)
			}
		}
	}
}

// TestInterrupted checks that a command that was stopped early fails, unless it runs until it is stopped.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"markets"}, {"updates"}, {"export"}, {"review"}, {"login"}, {"watch"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if args[0] == "export" && r.URL.Path == "/api/stats" {
					io.WriteString(w, "{}")
					return
				}
				w.WriteHeader(http.StatusOK)
				io.WriteString(w, "{")
				_ = http.NewResponseController(w).Flush()
				cancel()
				<-r.Context().Done()
			}))
			t.Cleanup(s.Close)
			c := newConsole(t, "")
			c.ctx = ctx
			c.Getenv = func(name string) string { return map[string]string{keyVariable: "pc_key"}[name] }
			want := ExitFailed
			if args[0] == "watch" {
				want = ExitOK
			}
			if code := c.run(t, append(args, "--base-url", s.URL)...); code != want {
				t.Errorf("exit %d, want %d\n%s", code, want, &c.err)
			}
			if c.canceled {
				t.Error("the error is context.Canceled, which the program treats as success")
			}
		})
	}
}

// TestDescribe checks that an update is printed as one line with its subjects and numbers.
func TestDescribe(t *testing.T) {
	t.Parallel()
	var u client.Update
	raw := `{"id":"9","type":"prediction.settled","at":"2026-01-02T03:04:05Z","ref":{"assignment":null,
		"prediction":{"id":"p1","url":"https://p.example","confidence":0.7,"baseline":null,"scores":{"edge":3.25}},"market":{"id":"m\u001b1"}}}`
	if err := json.Unmarshal([]byte(raw), &u); err != nil {
		t.Fatal(err)
	}
	want := "2026-01-02T03:04:05Z prediction.settled market m 1 prediction p1 confidence=0.7 edge=3.25"
	if got := describe(u); got != want {
		t.Errorf("%q; want %q", got, want)
	}
}

// TestTables checks that a terminal gets columns that fit its width, that a pipe gets lines with tabs, and
// that control characters in foreign text reach neither.
func TestTables(t *testing.T) {
	t.Parallel()
	columns := []column{{name: "id"}, {name: "value", numbers: true}, {name: "question", wide: true}}
	rows := [][]string{{"a", "1", "Will\tthis\x1b[31m\n be red?\u202e"}, {"bb", "22", strings.Repeat("long ", 30)}}
	c := newConsole(t, "")
	if err := c.printTable(columns, rows); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(c.out.String(), "\n")
	if lines[0] != "ID\tVALUE\tQUESTION" || lines[1] != "a\t1\tWill this [31m be red?" || len(lines) != 4 {
		t.Errorf("a pipe gets %q", lines)
	}
	c = newConsole(t, "")
	c.Width = 60
	if err := c.printTable(columns, rows); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(c.out.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > c.Width {
			t.Errorf("a line has %d columns: %q", n, line)
		}
	}
	if said := c.out.String(); strings.ContainsAny(said, "\x1b\u202e") || !strings.Contains(said, "…") || !strings.Contains(said, "   1  Will") {
		t.Errorf("a terminal gets\n%s", said)
	}
}

// TestNoAgentWithoutAPlaceForItsKey checks that no agent is registered if its key, which is shown once, can't be stored.
func TestNoAgentWithoutAPlaceForItsKey(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s was sent", r.Method, r.URL) }))
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]func() (string, error){
		"no home":   func() (string, error) { return "", errors.New("no home") },
		"no folder": func() (string, error) { return file, nil },
	} {
		c := newConsole(t, "")
		c.ConfigDir = dir
		if code := c.run(t, "login", "--register", "Ada", "--base-url", s.URL); code != ExitFailed || c.err.Len() == 0 {
			t.Errorf("%s: exit %d\n%s", name, code, &c.err)
		}
	}
}
