package app_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestConsentInBrowser checks that a person can allow an app on the consent page and is led back to
// the app, with and without scripts. Only a browser shows whether the page's policy permits that.
func TestConsentInBrowser(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	p, key := startDemo(t)
	answers := make(chan url.Values, 10)
	client := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if _, err := w.Write([]byte("<title>Connected</title><link rel=icon href=data:,>")); err != nil {
			t.Error(err)
		}
		if r.URL.Path == "/callback" {
			answers <- r.URL.Query()
		}
	}))
	defer client.Close()
	path := consentPath(t, p, client.URL+"/callback")
	browser := startBrowser(t)
	b := openTab(t, browser, p.base)
	for _, l := range looks {
		for _, wrong := range b.inspect(path, l, http.StatusOK, string(axe)) {
			t.Errorf("%s: %s", l, wrong)
		}
	}
	for _, script := range []bool{true, false} {
		b.visit(path, look{width: 390, scheme: "light", script: script}, http.StatusOK)
		err := b.follow(
			chromedp.SetValue(chromedp.CSS("#key"), key),
			chromedp.Click(chromedp.CSS("button[value=allow]")),
		)
		if err != nil {
			t.Fatal(err)
		}
		if got := <-answers; got.Get("code") == "" || got.Get("state") != "a-state" || got.Get("iss") != p.base {
			t.Errorf("the app got %v", got)
		}
	}
}

// consentPath registers an app and returns the path of its consent page.
func consentPath(t *testing.T, p *process, callback string) string {
	t.Helper()
	body := `{"client_name":"A desktop app","redirect_uris":["` + callback + `"]}`
	res, err := http.Post(p.base+"/oauth/register", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var made struct {
		ID string `json:"client_id"`
	}
	if err := json.NewDecoder(res.Body).Decode(&made); err != nil {
		t.Fatal(err)
	}
	return "/oauth/authorize?" + url.Values{
		"client_id": {made.ID}, "redirect_uri": {callback}, "response_type": {"code"}, "state": {"a-state"},
		"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, "code_challenge_method": {"S256"},
	}.Encode()
}
