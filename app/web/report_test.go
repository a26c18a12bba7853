package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

var ownPage = http.Header{"Sec-Fetch-Site": {"same-origin"}}

// reports returns the open reports of readers as "kind: text".
func (h *house) reports() []string {
	h.t.Helper()
	var list []string
	if err := h.db.NewRaw("SELECT kind || ': ' || text FROM reports WHERE status = 'open' AND reporter_id IS NULL ORDER BY id").Scan(h.t.Context(), &list); err != nil {
		h.t.Fatal(err)
	}
	return list
}

func TestReport(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		page := "/predictions/" + h.publish("Will it rain in Oslo?", "1", 0.7).ID.String()
		form := h.get(page).doc.Find("details#report:not([open]) form[method=post]")
		if form.AttrOr("action", "") != page+"/report" || form.Find("input[name=kind]").Length() != 3 || form.Find("textarea[name=text]").Length() != 1 {
			t.Fatalf("no form: %q", form.Text())
		}

		r := h.do("POST", page+"/report", url.Values{"kind": {"other"}, "text": {"  "}}, ownPage)
		if r.status != 422 || r.doc.Find("#report[open] #report-text[aria-invalid=true]").Length() != 1 || r.text("#report-text-help.field-error") == "" || r.doc.Find("#report-other[checked]").Length() != 1 {
			t.Errorf("kind other without a text: %d %s", r.status, r.text("#report"))
		}
		for name, form := range map[string]url.Values{
			"no kind":       {"text": {"x"}},
			"unknown kind":  {"kind": {"rude"}},
			"only authors":  {"kind": {"dispute"}, "text": {"x"}},
			"too long":      {"kind": {"spam"}, "text": {strings.Repeat("x", 1001)}},
			"control":       {"kind": {"spam"}, "text": {"a\x00b"}},
			"invalid UTF-8": {"kind": {"spam"}, "text": {"\xff"}},
			"reordering":    {"kind": {"spam"}, "text": {"a\u202eb"}},
		} {
			if r := h.do("POST", page+"/report", form, ownPage); r.status != 422 || r.text("#report .field-error") == "" {
				t.Errorf("%s: %d %s", name, r.status, r.text("#report"))
			}
		}
		if left := h.reports(); len(left) != 0 {
			t.Fatalf("refused, but stored: %q", left)
		}

		for range 2 {
			r = h.do("POST", page+"/report", url.Values{"kind": {"spam"}, "text": {hostile + "\r\nline"}}, ownPage)
			if r.status != http.StatusSeeOther || r.header.Get("Location") != page+"?reported=1#report" || r.header.Get("Cache-Control") != "no-store" {
				t.Fatalf("%d to %q, %q", r.status, r.header.Get("Location"), r.text("main"))
			}
		}
		if left := h.reports(); len(left) != 1 || left[0] != "spam: "+hostile+"\nline" {
			t.Errorf("kept %q", left)
		}
		thanks := h.get(page + "?reported=1")
		if !strings.HasPrefix(thanks.text("#report[role=status]"), "Thank you") || thanks.doc.Find("form[action$=report]").Length() != 0 {
			t.Errorf("thanks with %q", thanks.text("#report"))
		}
	})
}

func TestReportRefused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		id := h.publish("Will it rain in Oslo?", "1", 0.7).ID
		page := "/predictions/" + id.String()
		spam := url.Values{"kind": {"spam"}}
		for _, header := range []http.Header{{"Sec-Fetch-Site": {"cross-site"}}, {"Sec-Fetch-Site": {"same-site"}}, {"Origin": {"https://evil.example"}}, {"Origin": {"null"}}} {
			if r := h.do("POST", page+"/report", spam, header); r.status != 403 {
				t.Errorf("%v: %d", header, r.status)
			}
		}
		for _, missing := range []string{uuid.NewString(), "x"} {
			if r := h.do("POST", "/predictions/"+missing+"/report", spam, ownPage); r.status != 404 || r.text("h1") == "" {
				t.Errorf("%s: %d", missing, r.status)
			}
		}
		if _, err := h.db.ExecContext(t.Context(), "UPDATE agents SET visibility = 'texts_hidden'"); err != nil {
			t.Fatal(err)
		}
		if r := h.do("POST", page+"/report", spam, ownPage); r.status != 409 {
			t.Errorf("report on an agent whose texts are all hidden: %d", r.status)
		}
		if _, err := h.db.ExecContext(t.Context(), "UPDATE agents SET visibility = 'public'"); err != nil {
			t.Fatal(err)
		}
		if _, err := h.db.NewUpdate().Table("predictions").Set("hidden = TRUE").Where("id = ?", id).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := h.do("POST", page+"/report", spam, ownPage); r.status != 409 || !strings.Contains(r.text("main"), "hidden") {
			t.Errorf("report on a hidden text: %d %s", r.status, r.text("main"))
		}
		if h.get(page).doc.Find("#report").Length() != 0 {
			t.Error("a hidden text can be reported")
		}
		if left := h.reports(); len(left) != 0 {
			t.Errorf("refused, but stored: %q", left)
		}
	})
}

// TestReportsAreLimited checks that an address may send a few reports an hour, and that this limit
// doesn't affect its reading and publishing.
func TestReportsAreLimited(t *testing.T) {
	t.Parallel()
	h := openWith(t, dbtest.Open(t, database.SQLite), func(c *config.Config) { c.RateLimitWrites = config.Rate{N: 120, Per: 60e9} })
	page := "/predictions/" + h.publish("Will it rain in Oslo?", "1", 0.7).ID.String()
	status := map[int]int{}
	for range 8 {
		r := h.do("POST", page+"/report", url.Values{"kind": {"spam"}}, ownPage)
		status[r.status]++
		if r.status == 429 && (r.header.Get("Retry-After") == "" || !strings.Contains(r.text("main"), "6/h reports from this address")) {
			t.Errorf("%q %s", r.header.Get("Retry-After"), r.text("main"))
		}
	}
	if status[303] != 6 || status[429] != 2 || h.get(page).status != 200 {
		t.Errorf("answers: %v", status)
	}
}
