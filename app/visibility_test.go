package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// adminClient is a signed-in admin without a browser.
type adminClient struct {
	p    *process
	http *http.Client
}

func (p *process) admin() *adminClient {
	p.t.Helper()
	password := regexp.MustCompile(`name demo, password (\S+)`).FindStringSubmatch(p.out.String())
	jar, err := cookiejar.New(nil)
	if err != nil || password == nil {
		p.t.Fatalf("%v; the demo's output:\n%s", err, p.out)
	}
	a := &adminClient{p, &http.Client{Jar: jar}}
	a.act("/admin/sign-in", "/admin/sign-in", url.Values{"name": {"demo"}, "password": {password[1]}})
	return a
}

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// act submits a form with the token of a page and returns the page that follows.
func (a *adminClient) act(page, action string, form url.Values) string {
	a.p.t.Helper()
	_, body := a.p.fetch(a.http, page)
	token := csrfField.FindSubmatch(body)
	if token == nil {
		a.p.t.Fatalf("%s has no form:\n%s", page, body)
	}
	form.Set("csrf", string(token[1]))
	res, err := a.http.PostForm(a.p.base+action, form)
	if err != nil {
		a.p.t.Fatal(err)
	}
	defer res.Body.Close()
	shown, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		a.p.t.Fatalf("%s: %d %v\n%s", action, res.StatusCode, err, shown)
	}
	return string(shown)
}

func (p *process) fetch(client *http.Client, path string) (status int, body []byte) {
	p.t.Helper()
	req, err := http.NewRequest(http.MethodGet, p.base+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("User-Agent", "pulsecast-test/1.0")
	res, err := client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err = io.ReadAll(res.Body); err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, body
}

// surfaces lists every place that shows texts of agents, and which facts each viewer sees there:
// what the agent declares (n its name, d its description, h a link to it) and what it wrote (i the
// prediction's id, t its title, x its thesis, e its evidence, m its model, c its category). The
// columns are the states of the agent and of its prediction. A fact that a column doesn't name must
// not appear.
var surfaces = []struct {
	name, viewer, path                                      string
	shown, profile, texts, prediction, disabled, unrevealed string
}{
	{"API record", "public", "/api/predictions/{id}", "nhitxemc", "hitxec", "hi", "nhi", "nhitxemc", "nhi"},
	{"API record", "author", "/api/predictions/{id}", "nhitxemc", "hitxec", "hi", "nhi", "", "nhitxemc"},
	{"API list", "public", "/api/predictions?agent={handle}", "nhitxemc", "hitxec", "hi", "nhi", "nhitxemc", "nhi"},
	{"API search", "public", "/api/predictions?q=zebrafish+census", "nhitxemc", "hitxec", "", "", "nhitxemc", ""},
	{"API list", "author", "/api/predictions?agent={handle}", "nhitxemc", "hitxec", "hi", "nhi", "", "nhitxemc"},
	{"API search", "author", "/api/predictions?q=zebrafish+census", "nhitxemc", "hitxec", "", "", "", ""},
	{"API market", "author", "/api/intelligence/markets/{market}", "nhitxemc", "hitxec", "hi", "nhi", "", "nhitxemc"},
	{"API category", "public", "/api/predictions?category=ichthyology", "nhitxemc", "hitxec", "", "", "nhitxemc", ""},
	{"API market", "public", "/api/intelligence/markets/{market}", "nhitxemc", "hitxec", "hi", "nhi", "nhitxemc", "nhi"},
	{"API agent", "public", "/api/agents/{handle}", "nhd", "h", "h", "nhd", "nhd", "nhd"},
	{"API leaderboard", "public", "/api/leaderboard", "nh", "h", "h", "nh", "", "nh"},
	{"MCP", "public", "mcp:getPrediction", "nhitxemc", "hitxec", "hi", "nhi", "nhitxemc", "nhi"},
	{"home", "public", "/", "nhitxm", "hitx", "h", "nh", "nh", "nh"},
	{"leaderboard", "public", "/leaderboard", "nh", "h", "h", "nh", "", "nh"},
	{"agent page", "public", "/agents/{handle}", "nhdit", "hit", "hi", "nhdi", "nhdit", "nhdi"},
	{"agent Atom", "public", "/agents/{handle}.atom", "nhitxc", "hitxc", "hi", "nhi", "nhitxc", "nhi"},
	{"Atom", "public", "/predictions.atom", "nitxc", "itxc", "i", "ni", "nitxc", "ni"},
	{"badge", "public", "/agents/{handle}/badge.svg", "n", "", "", "n", "n", "n"},
	{"compare", "public", "/compare?a={handle}", "n", "", "", "n", "", "n"},
	{"search", "public", "/search?q=zebrafish+census", "nhit", "hit", "", "", "nhit", ""},
	{"agent search", "public", "/search?q=quagga", "nhd", "", "", "nhd", "", "nhd"},
	{"prediction page", "public", "/predictions/{id}", "nhitxemc", "hitxec", "hi", "nhi", "nhitxemc", "nhi"},
	{"prediction list", "public", "/predictions?agent={handle}", "nhit", "hit", "hi", "nhi", "nhit", "nhi"},
	{"market page", "public", "/markets/{market}", "nhitxm", "hitx", "hi", "nhi", "nhitxm", "nhi"},
	{"admin agent page", "admin", "/admin/agents/{handle}", "nhdit", "nhdit", "nhdit", "nhdit", "nhdit", "nhdit"},
	{"admin ruling page", "admin", "/admin/settlement/predictions/{id}", "nhitx", "hitx", "hitx", "nhitx", "nhitx", "nhitx"},
}

// confidence is the confidence of TestVisibility's prediction, as a number or in percent. Among the coordinates of
// drawings the same digits can stand by chance.
var (
	confidence  = regexp.MustCompile(`(?:^|[^0-9.])(?:0\.4273|42\.73)(?:[^0-9]|$)`)
	coordinates = regexp.MustCompile(` (?:[xy][12]?|c[xy]|d|points|width|height|style|transform)="[^"]*"`)
)

// TestVisibility checks that no page, feed, picture, badge, search or answer shows hidden texts to
// the public or to their author, at once. When an admin shows the texts again, all of them
// reappear.
func TestVisibility(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			hideAndShow(t, demoURL(t, kind))
		})
	}
}

func hideAndShow(t *testing.T, address string) {
	p, _ := startDemo(t, "DATABASE_URL="+address, "RATE_LIMIT_READS=off")
	p.until("/api/leaderboard?limit=1", "", func(a map[string]any) bool { return dig(a, "leaderboard", 0, "agent", "handle") != nil })
	_, board := p.call("GET", "/api/leaderboard?limit=1", "", nil)
	handle := fmt.Sprint(dig(board, "leaderboard", 0, "agent", "handle"))
	a, stranger := p.admin(), &http.Client{}
	page := "/admin/agents/" + handle
	author := regexp.MustCompile(`pc_[A-Za-z0-9_]+`).FindString(a.act(page, page+"/keys", url.Values{"label": {"test"}, "seen": {"0 keys"}}))
	facts := map[rune]string{
		'n': "Quagga Oracle", 'd': "Counts marzipan by the hour.", 'h': "/agents/" + handle + `"`,
		't': "Will the zebrafish census pass nine thousand?", 'x': "The nets came back fuller than in spring.",
		'e': "A ledger of nets", 'm': "okapi-9", 'c': "ichthyology",
	}
	status, answer := p.call("PATCH", "/api/agents/me", author, map[string]any{"name": facts['n'], "description": facts['d']})
	if status != 200 {
		t.Fatalf("%d %v", status, answer)
	}
	_, markets := p.call("GET", "/api/intelligence/markets?limit=1", "", nil)
	market := fmt.Sprint(dig(markets, "markets", 0, "id"))
	status, published := p.call("POST", "/api/predictions", author, map[string]any{
		"title": facts['t'], "thesis": facts['x'], "confidence": 0.4273, "horizonAt": time.Now().AddDate(0, 1, 0).UTC(), "marketId": market, "reveal": "close",
		"model": facts['m'], "category": facts['c'], "evidence": []any{map[string]any{"title": facts['e'], "url": "https://example.org/nets"}},
	})
	if status != 200 {
		t.Fatalf("%d %v", status, published)
	}
	id := fmt.Sprint(dig(published, "prediction", "id"))
	facts['i'] = id
	fill := strings.NewReplacer("{id}", id, "{handle}", handle, "{market}", market)
	mcp := p.model(t, "/mcp/public", "")
	read := func(viewer, path string) []byte {
		if tool, ok := strings.CutPrefix(path, "mcp:"); ok {
			answer, _ := mcp.use(tool, map[string]any{"id": id})
			body, err := json.Marshal(answer)
			if err != nil {
				t.Fatal(err)
			}
			return body
		}
		client := stranger
		switch viewer {
		case "admin":
			client = a.http
		case "author":
			client = &http.Client{Transport: bearing{author}}
		}
		_, body := p.fetch(client, fill.Replace(path))
		return body
	}
	appear := func(viewer, path string) string {
		body, found := read(viewer, path), []rune{}
		for _, fact := range "nhditxemc" {
			if bytes.Contains(body, []byte(facts[fact])) || bytes.Contains(body, []byte(htmlEscaped(facts[fact]))) {
				found = append(found, fact)
			}
		}
		slices.Sort(found)
		return string(found)
	}
	pictures := []string{"/agents/" + handle + "/card.png", "/predictions/" + id + "/card.png"}
	// look compares every surface with its column. Hiding must take effect at once. Disabling and
	// enabling may take as long as a page is cached.
	look := func(state string, column int, within time.Duration) (drawn [][]byte) {
		t.Helper()
		deadline := time.Now().Add(within)
		for _, s := range surfaces {
			want := []rune([]string{s.shown, s.profile, s.texts, s.prediction, s.disabled, s.unrevealed}[column])
			slices.Sort(want)
			got := appear(s.viewer, s.path)
			for got != string(want) && time.Now().Before(deadline) {
				<-time.After(100 * time.Millisecond)
				got = appear(s.viewer, s.path)
			}
			if got != string(want) {
				t.Errorf("%s: %s shows %q to %s, want %q", state, s.name, got, s.viewer, string(want))
			}
		}
		for _, path := range pictures {
			drawn = append(drawn, read("public", path))
		}
		return drawn
	}
	const soon = 90 * time.Second
	sealed := look("unrevealed", 5, soon)
	for _, s := range surfaces {
		body := read(s.viewer, s.path)
		if told := confidence.Match(coordinates.ReplaceAll(body, nil)); told && s.viewer == "public" {
			t.Errorf("unrevealed: %s shows the confidence to the public", s.name)
		}
	}
	closeMarket(t, address, market)
	p.until("/api/predictions/"+id, "", func(a map[string]any) bool { return dig(a, "prediction", "revealedAt") != nil })
	before := look("shown", 0, soon)
	if !confidence.Match(coordinates.ReplaceAll(read("public", "/predictions/{id}"), nil)) {
		t.Error("after the reveal, the page of the prediction doesn't show its confidence")
	}
	for deadline := time.Now().Add(soon); bytes.Equal(sealed[1], before[1]); before[1] = read("public", pictures[1]) {
		if time.Now().After(deadline) {
			t.Fatal("the picture of the prediction didn't change with its reveal")
		}
		<-time.After(100 * time.Millisecond)
	}

	_, preview := p.fetch(a.http, page+"/texts?to=all&note=abuse")
	if !bytes.Contains(preview, []byte("are hidden too")) {
		t.Errorf("preview:\n%s", preview)
	}
	a.act(page, page+"/texts", url.Values{"to": {"profile"}, "note": {"adverts"}, "seen": {"shown"}})
	look("profile hidden", 1, 0)
	a.act(page, page+"/texts", url.Values{"to": {"all"}, "note": {"abuse"}, "seen": {"profile texts hidden"}})
	for i, hidden := range look("texts hidden", 2, 0) {
		if bytes.Equal(before[i], hidden) {
			t.Errorf("%s didn't change", pictures[i])
		}
	}
	_, now := p.call("GET", "/api/predictions/"+id, "", nil)
	if dig(now, "prediction", "hidden") != true || dig(now, "prediction", "confidence") != dig(published, "prediction", "confidence") {
		t.Errorf("the hidden prediction: %v", now)
	}
	_, dry := p.call("POST", "/api/predictions?dryRun=true", author, map[string]any{
		"title": "A second?", "thesis": "Dry.", "confidence": 0.5, "horizonAt": time.Now().AddDate(0, 1, 0).UTC()})
	if dig(dry, "prediction", "hidden") != true || dig(dry, "prediction", "thesis") != "" {
		t.Errorf("a dry run doesn't answer like a publish: %v", dry)
	}
	if _, changes := p.fetch(stranger, "/changes"); bytes.Contains(changes, []byte("abuse")) {
		t.Error("no score changed, but the public page of changes mentions it")
	}
	a.act(page, page+"/texts", url.Values{"to": {"shown"}, "note": {"a mistake"}, "seen": {"all texts hidden"}})
	for i, after := range look("shown again", 0, 0) {
		if !bytes.Equal(before[i], after) {
			t.Errorf("%s differs from before", pictures[i])
		}
	}

	ruling := "/admin/settlement/predictions/" + id
	a.act(ruling, ruling+"/text", url.Values{"hidden": {"true"}, "note": {"rude"}})
	look("prediction hidden", 3, 0)
	a.act(ruling, ruling+"/text", url.Values{"hidden": {"false"}, "note": {"a mistake"}})
	a.act(page, page+"/status", url.Values{"status": {"disabled"}, "note": {"spam"}, "seen": {"active"}})
	look("disabled", 4, soon)
}

// closeMarket sets a market's scheduled close to now, which reveals the predictions that wait for
// it.
func closeMarket(t *testing.T, address, market string) {
	t.Helper()
	db, err := database.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.NewRaw("UPDATE markets SET closes_at = ? WHERE id = ?", time.Now().UTC(), market).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// passHorizon moves the horizon of predictions without a market to now.
func passHorizon(t *testing.T, address string, ids ...string) {
	t.Helper()
	db, err := database.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, table := range []string{"predictions", "results"} {
		for _, id := range ids {
			if _, err := db.NewRaw("UPDATE "+table+" SET horizon_at = ? WHERE id = ?", time.Now().UTC(), id).Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// decides matches SQL that decides what is shown.
var decides = regexp.MustCompile(`\bNOT p?\.?hidden\b|\bp\.hidden\b|\bNOT (p\.)?unrevealed\b|\.visibility\b|'(profile|texts)_hidden'|status (=|<>) 'active'`)

// TestVisibilityIsDecidedOnce checks that only two files decide what is shown.
func TestVisibilityIsDecidedOnce(t *testing.T) {
	t.Parallel()
	owners := []string{"agent/visibility.go", "prediction/visibility.go"}
	found := map[string]bool{}
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if sql := decides.Find(source); sql != nil {
			found[path] = true
			if !slices.Contains(owners, path) {
				t.Errorf("%s contains SQL that decides what is shown: %s", path, sql)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range owners {
		if !found[path] {
			t.Errorf("%s contains no SQL that decides what is shown", path)
		}
	}
}

func htmlEscaped(s string) string {
	return strings.NewReplacer("&", "&amp;", "'", "&#39;", `"`, "&#34;", "<", "&lt;", ">", "&gt;").Replace(s)
}
