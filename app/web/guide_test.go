package web_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"image/png"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/update"
	"github.com/pulsecast/pulsecast/app/version"
)

// TestGuideListsAll checks that the pages list every type of update and the limits of this
// installation, and that the changelog covers this version.
func TestGuideListsAll(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	updates := h.get("/docs/updates").doc
	for _, kind := range update.Types {
		if updates.Find(`[id="update-`+string(kind)+`"]`).Length() != 1 {
			t.Errorf("%s is not explained", kind)
		}
	}
	if first := h.get("/docs/changelog").doc.Find(".prose h2").First().Text(); first != version.API {
		t.Errorf("the changelog begins with %s", first)
	}
	if text := h.get("/docs/limits").text(".docs"); !strings.Contains(text, "10000 characters") || !strings.Contains(text, "30 days") {
		t.Errorf("limits: %s", text)
	}
	chosen := h.get("/docs?with=go").doc.Find(".tabs input[checked]")
	if chosen.Length() != 1 || chosen.AttrOr("value", "") != "go" {
		t.Errorf("%d tabs are open", chosen.Length())
	}
}

// getAs requests a page with an Accept header.
func (h *house) getAs(path, accept string) *http.Response {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, base+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	res, err := h.client.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { res.Body.Close() })
	return res
}

// TestForms checks that a program gets Markdown, or a refusal as JSON, if it asks for it, and that
// browsers get HTML.
func TestForms(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for _, c := range []struct{ path, accept, contentType, has string }{
		{"/", browser, "text/html", "<main"},
		{"/", "*/*", "text/html", "<main"},
		{"/", "text/markdown", "text/markdown", "# "},
		{"/docs/clients", "text/markdown, text/html;q=0.9", "text/markdown", "| [`pulsecast.py`](http://pulse.test/clients/pulsecast.py)"},
		{"/docs", "text/markdown;q=0.5, text/html", "text/html", "<main"},
		{"/docs", "text/markdown", "text/markdown", "### TypeScript"},
		{"/nothing", browser, "text/html", "<main"},
		{"/nothing", "application/json", "application/problem+json", `"code":"not_found"`},
		{"/nothing", "text/markdown", "text/markdown", "# Not found\n\nThere is nothing at this address."},
		{"/markets/none", "application/problem+json, */*;q=0.1", "application/problem+json", `"code":"not_found"`},
	} {
		res := h.getAs(c.path, c.accept)
		var body bytes.Buffer
		body.ReadFrom(res.Body)
		if !strings.HasPrefix(res.Header.Get("Content-Type"), c.contentType) || !strings.Contains(body.String(), c.has) ||
			!strings.Contains(strings.Join(res.Header.Values("Vary"), ","), "Accept") {
			t.Errorf("%s as %s: %v\n%.300s", c.path, c.accept, res.Header, body.String())
		}
		if etag := res.Header.Get("ETag"); res.StatusCode == http.StatusOK && strings.HasPrefix(c.contentType, "text/markdown") != strings.Contains(etag, "md-") {
			t.Errorf("%s as %s has the ETag %s", c.path, c.accept, etag)
		}
	}
}

// TestDiscovery reads the documents at well-known addresses.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	read := func(path, contentType string) string {
		t.Helper()
		r := h.get(path)
		if r.status != http.StatusOK || !strings.HasPrefix(r.header.Get("Content-Type"), contentType) || r.header.Get("ETag") == "" {
			t.Errorf("%s: %d %v", path, r.status, r.header)
		}
		return r.body
	}
	var index struct {
		Skills []struct{ Name, Type, URL, Digest string }
	}
	if err := json.Unmarshal([]byte(read("/.well-known/agent-skills/index.json", "application/json")), &index); err != nil || len(index.Skills) != 1 {
		t.Fatalf("%v %v", err, index)
	}
	skill := index.Skills[0]
	sum := sha256.Sum256([]byte(read(strings.TrimPrefix(skill.URL, base), "text/markdown")))
	if skill.Name != "x" || skill.Type != "skill-md" || skill.Digest != "sha256:"+hex.EncodeToString(sum[:]) {
		t.Errorf("%+v", skill)
	}
	fields := map[string]string{}
	for line := range strings.Lines(read("/.well-known/security.txt", "text/plain; charset=utf-8")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		fields[name] = value
	}
	expires, err := time.Parse(time.RFC3339, fields["Expires"])
	if err != nil || expires.Before(h.now.AddDate(0, 4, 0)) || expires.After(h.now.AddDate(1, 0, 0)) || fields["Contact"] == "" {
		t.Errorf("%v %v", err, fields)
	}
	var catalog struct {
		Linkset []map[string]any `json:"linkset"`
	}
	if err := json.Unmarshal([]byte(read("/.well-known/api-catalog", "application/linkset+json")), &catalog); err != nil || catalog.Linkset[0]["service-desc"] == nil {
		t.Errorf("%v %v", err, catalog)
	}
	if link := h.get("/").header.Get("Link"); !strings.Contains(link, `rel="service-desc"`) || !strings.Contains(link, `rel="api-catalog"`) {
		t.Errorf("home: Link %s", link)
	}
	checkLinks(t, h, read("/llms.txt", "text/plain"))
}

// checkLinks follows the links of llms.txt to pages of the site.
func checkLinks(t *testing.T, h *house, text string) {
	t.Helper()
	if !strings.HasPrefix(text, "# Pulsecast\n\n> ") {
		t.Errorf("llms.txt: %.80s", text)
	}
	n := 0
	for line := range strings.Lines(text) {
		_, rest, ok := strings.Cut(line, "]("+base)
		if path, _, closed := strings.Cut(rest, ")"); ok && closed && !strings.HasPrefix(path, "/api/") {
			if n++; h.get(path).status != http.StatusOK {
				t.Errorf("llms.txt names %s", path)
			}
		}
	}
	if n < 10 {
		t.Errorf("%d links", n)
	}
	menu := h.get("/docs").doc.Find(`.guide-menu a[href^="/docs"]`).Map(func(_ int, link *goquery.Selection) string { return link.AttrOr("href", "") })
	if len(menu) < 10 {
		t.Errorf("the menu of /docs has %d links", len(menu))
	}
	for _, path := range menu {
		if !strings.Contains(text, "]("+base+path+")") {
			t.Errorf("llms.txt doesn't name %s", path)
		}
	}
}

// TestIcons checks that each icon has the type that its address names.
func TestIcons(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	ico := h.get("/favicon.ico")
	var head struct{ Reserved, Kind, Count uint16 }
	if err := binary.Read(strings.NewReader(ico.body), binary.LittleEndian, &head); err != nil || head.Kind != 1 || head.Count != 3 ||
		ico.header.Get("Content-Type") != "image/x-icon" {
		t.Errorf("favicon.ico: %v %+v %v", err, head, ico.header)
	}
	touch, err := png.Decode(strings.NewReader(h.get("/apple-touch-icon.png").body))
	if err != nil || touch.Bounds().Dx() != 180 || touch.Bounds().Dy() != 180 {
		t.Errorf("apple-touch-icon.png: %v", err)
	}
}
