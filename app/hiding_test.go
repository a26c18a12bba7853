package app_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
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

// act sends a form with the token of a page, and answers with the page it leads to.
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

// TestHiddenTextsAreHiddenEverywhere: once an admin hides what an agent wrote, no page,
// feed, picture, badge, search or answer of the API shows it, at once; undone, they do.
func TestHiddenTextsAreHiddenEverywhere(t *testing.T) {
	t.Parallel()
	p, _ := startDemo(t)
	p.until("/api/leaderboard?limit=1", "", func(a map[string]any) bool { return dig(a, "leaderboard", 0, "agent", "handle") != nil })
	_, board := p.call("GET", "/api/leaderboard?limit=1", "", nil)
	handle := fmt.Sprint(dig(board, "leaderboard", 0, "agent", "handle"))
	_, answer := p.call("GET", "/api/agents/"+handle, "", nil)
	_, list := p.call("GET", "/api/predictions?limit=1&agent="+handle, "", nil)
	id, title := fmt.Sprint(dig(list, "predictions", 0, "id")), fmt.Sprint(dig(list, "predictions", 0, "title"))
	name, description := fmt.Sprint(dig(answer, "agent", "name")), fmt.Sprint(dig(answer, "agent", "description"))
	thesis := fmt.Sprint(dig(list, "predictions", 0, "thesis"))
	if name == handle || description == "<nil>" || title == "<nil>" {
		t.Fatalf("the demo's best agent declares too little: %v", answer)
	}
	words := url.QueryEscape(title)
	of := map[string][]string{ // what each address shows
		"/":                                  {name},
		"/leaderboard":                       {name},
		"/agents/" + handle:                  {name, description},
		"/agents/" + handle + ".atom":        {name, thesis},
		"/predictions.atom":                  {name},
		"/agents/" + handle + "/badge.svg":   {name},
		"/compare?a=" + handle:               {name},
		"/search?q=" + url.QueryEscape(name): {`href="/agents/` + handle + `"`},
		"/predictions/" + id:                 {name, thesis},
		"/predictions?agent=" + handle:       {name},
		"/api/agents/" + handle:              {name, description},
		"/api/leaderboard":                   {name},
		"/api/predictions/" + id:             {name, thesis},
		"/api/predictions?q=" + words:        {id},
		"/api/predictions?agent=" + handle:   {name, thesis},
	}
	pictures := []string{"/agents/" + handle + "/card.png", "/predictions/" + id + "/card.png"}
	stranger := &http.Client{}
	look := func(when string, shown bool) (drawn [][]byte) {
		t.Helper()
		for path, texts := range of {
			status, body := p.fetch(stranger, path)
			for _, text := range texts {
				found := bytes.Contains(body, []byte(text)) || bytes.Contains(body, []byte(htmlEscaped(text)))
				if status != 200 || found != shown {
					t.Errorf("%s, %s (%d) shows %.60q: %t", when, path, status, text, found)
				}
			}
		}
		for _, path := range pictures {
			_, body := p.fetch(stranger, path)
			drawn = append(drawn, body)
		}
		return drawn
	}
	before := look("before", true)
	a := p.admin()
	page := "/admin/agents/" + handle
	_, preview := p.fetch(a.http, page+"/texts?to=all&note=abuse")
	if !bytes.Contains(preview, []byte("are hidden too")) {
		t.Errorf("preview:\n%s", preview)
	}
	a.act(page, page+"/texts", url.Values{"to": {"all"}, "note": {"abuse"}, "seen": {"shown"}})
	hidden := look("hidden", false)
	for i := range pictures {
		if bytes.Equal(before[i], hidden[i]) {
			t.Errorf("%s shows the same as before", pictures[i])
		}
	}
	_, now := p.call("GET", "/api/predictions/"+id, "", nil)
	if dig(now, "prediction", "hidden") != true || dig(now, "prediction", "confidence") != dig(list, "predictions", 0, "confidence") {
		t.Errorf("the tombstone: %v", now)
	}
	if _, changes := p.fetch(stranger, "/changes"); bytes.Contains(changes, []byte("abuse")) {
		t.Error("no score changed, yet the public page of changes tells of it")
	}
	a.act(page, page+"/texts", url.Values{"to": {"shown"}, "note": {"a mistake"}, "seen": {"everything it wrote hidden"}})
	after := look("shown again", true)
	for i := range pictures {
		if !bytes.Equal(before[i], after[i]) {
			t.Errorf("%s is not as before", pictures[i])
		}
	}
}

func htmlEscaped(s string) string {
	return strings.NewReplacer("&", "&amp;", "'", "&#39;", `"`, "&#34;", "<", "&lt;", ">", "&gt;").Replace(s)
}
