package admin_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/backup"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// follow sends a form and returns the page that it leads to.
func (b *browser) follow(page, action string, fields url.Values) reply {
	b.h.t.Helper()
	b.h.now = b.h.now.Add(time.Second) // let time pass, so that the acts are ordered
	r := b.post(page, action, fields)
	if r.status != 303 {
		b.h.t.Fatalf("%s: %d %s", action, r.status, r.text("main"))
	}
	return b.get(r.header.Get("Location"))
}

func TestAgentActs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		b := h.signedIn("eve")
		const page = "/admin/agents/ada"

		r := b.follow(page, page+"/status", url.Values{"note": {"spam"}})
		if got := r.text(".flash"); !strings.Contains(got, "disabled") {
			t.Errorf("said %q", got)
		}
		if a, err := (agent.Store{}).ByHandle(t.Context(), db.Reader, "ada"); err != nil || a.Status != agent.Disabled {
			t.Errorf("%+v, %v", a, err)
		}
		if got := r.text("#log ~ .table-wrap tbody tr:first-child"); !strings.Contains(got, "agent disabled") || !strings.Contains(got, "active → disabled") || !strings.Contains(got, "spam") {
			t.Errorf("log %q", got)
		}
		b.follow(page, page+"/status", url.Values{"note": {"sorry"}})

		issued := b.post(page, page+"/keys", url.Values{"label": {"spare"}})
		secret := issued.text("pre.key")
		if issued.status != 200 || !strings.HasPrefix(secret, "pc_") {
			t.Fatalf("issue: %d %q", issued.status, secret)
		}
		if _, _, err := (agent.Store{}).FindKey(t.Context(), db.Reader, secret, time.Now()); err != nil {
			t.Errorf("the new key: %v", err)
		}
		if strings.Contains(b.get(page).body, secret) || strings.Contains(b.get("/admin/audit").body, secret) {
			t.Error("the key is shown a second time")
		}
		if again := b.post(page, page+"/keys", url.Values{"label": {"spare"}, "seen": {"1 key"}}); again.status != 409 {
			t.Errorf("the same form again: %d", again.status)
		}
		if n := b.get(page).doc.Find(`details > form[action$="/keys/revoke"]`).Length(); n != 2 {
			t.Errorf("%d of 2 keys are revoked in two steps", n)
		}
		b.follow(page, page+"/keys/revoke", nil)
		if keys, err := (agent.Store{}).ListKeys(t.Context(), db.Reader, h.agent.ID); err != nil || keys[0].RevokedAt.IsZero() == keys[1].RevokedAt.IsZero() {
			t.Errorf("one of two keys should be revoked: %+v, %v", keys, err)
		}
		if got := b.follow(page, page+"/notes", url.Values{"text": {"asks a lot"}}).text("#notes ~ .table-wrap tbody"); !strings.Contains(got, "asks a lot eve") {
			t.Errorf("notes %q", got)
		}
		if r := b.post(page, page+"/status", url.Values{"note": {""}}); r.status != 422 {
			t.Errorf("without a reason: %d", r.status)
		}
	})
}

// TestSecondAdminSeesWhatChanged checks that if two admins act on the same page, the second gets a
// refusal that says what changed.
func TestSecondAdminSeesWhatChanged(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		eve, olaf := h.signedIn("eve"), h.signedIn("olaf")
		stale := func(r reply, form string) url.Values {
			values := url.Values{}
			for _, n := range r.doc.Find(form + " [name]").Nodes {
				name, value := "", ""
				for _, a := range n.Attr {
					switch a.Key {
					case "name":
						name = a.Val
					case "value":
						value = a.Val
					}
				}
				values.Set(name, value)
			}
			return values
		}
		saw := olaf.get("/admin/agents/ada")
		form := stale(saw, "#status-form")
		form.Set("note", "also spam")
		eve.follow("/admin/agents/ada", "/admin/agents/ada/status", url.Values{"note": {"spam"}})
		r := olaf.do("POST", "/admin/agents/ada/status", form)
		if r.status != 409 || !strings.Contains(r.text("main"), "eve") || !strings.Contains(r.text("main"), "spam") {
			t.Errorf("disable twice: %d %s", r.status, r.text("main"))
		}
		if got := r.text("#typed + dl"); !strings.Contains(got, "also spam") {
			t.Errorf("the typed reason is lost: %q", got)
		}

		ruling := "/admin/settlement/predictions/" + h.due.ID.String()
		preview := "?kind=prediction_settled&note=seen&outcome="
		form = stale(olaf.get(ruling+preview+"No"), "#rule-form")
		eve.follow(ruling+preview+"Yes", ruling, nil)
		r = olaf.do("POST", ruling, form)
		if r.status != 409 || !strings.Contains(r.text("main"), "as Yes") || !strings.Contains(r.text("main"), "eve") {
			t.Errorf("settle twice: %d %s", r.status, r.text("main"))
		}
		// A correction of a correction that the admin's page did not show yet.
		correct := "?kind=prediction_corrected&note=seen&value="
		form = stale(olaf.get(ruling+correct+"0.5"), "#rule-form")
		eve.follow(ruling+correct+"0.25", ruling, nil)
		if r = olaf.do("POST", ruling, form); r.status != 409 || !strings.Contains(r.text("main"), "0.25") {
			t.Errorf("correct twice: %d %s", r.status, r.text("main"))
		}

		form = stale(olaf.get("/admin/assignments/"+h.assignment()), "#assignment-form")
		form.Set("title", "Will it snow?")
		eve.follow("/admin/assignments/"+h.assignment(), "/admin/assignments/"+h.assignment(), url.Values{"title": {"Will it thaw?"}, "instructions": {"Say."}})
		if r = olaf.do("POST", "/admin/assignments/"+h.assignment(), form); r.status != 409 || !strings.Contains(r.text("main"), "Will it thaw?") {
			t.Errorf("edit twice: %d %s", r.status, r.text("main"))
		}
		if got := r.text("#typed + dl"); !strings.Contains(got, "Will it snow?") {
			t.Errorf("the typed question is lost: %q", got)
		}
	})
}

// TestStoredRulingIsDone checks that a ruling succeeds once it is stored, even if its request ends before the
// predictions are settled.
func TestStoredRulingIsDone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		db.Watch(dbtest.OnCommit(leave))
		act := moderation.Act{Actor: "eve", Reason: "It rained."}
		err := h.moderation.Rule(ctx, act, moderation.Ruling{Kind: settlement.KindMarketCorrected, Subject: "1", Outcome: "Yes"})
		if err != nil || ctx.Err() == nil {
			t.Errorf("got %v, want success although the request has ended", err)
		}
		if n := h.count("SELECT COUNT(*) FROM corrections WHERE kind = 'market_corrected'"); n != 1 {
			t.Errorf("%d rulings are stored, want 1", n)
		}
	})
}

func TestRulings(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		b := h.signedIn("eve")
		queue := b.get("/admin/settlement")
		if got := queue.text("#due ~ .table-wrap"); !strings.Contains(got, "Will the barometer fall?") {
			t.Errorf("due: %q", got)
		}
		if got := queue.text("#markets ~ .table-wrap"); !strings.Contains(got, "Will it rain in Oslo?") || !strings.Contains(got, "disputed") {
			t.Errorf("markets: %q", got)
		}
		due := "/admin/settlement/predictions/" + h.due.ID.String()
		r := b.get(due + "?kind=prediction_settled&outcome=Yes&note=It+fell.")
		if got := r.text("#rule-form"); !strings.Contains(got, "From open to Yes") {
			t.Errorf("preview: %q", got)
		}
		if got := h.count("SELECT COUNT(*) FROM prediction_records WHERE status <> 'open'"); got != 0 {
			t.Fatalf("the preview settled %d predictions", got)
		}
		r = b.follow(due+"?kind=prediction_settled&outcome=Yes&note=It+fell.", due, nil)
		if got := r.text(".facts"); !strings.Contains(got, "resolved") || !strings.Contains(got, "It fell.") {
			t.Errorf("after settling: %q", got)
		}
		b.follow(due+"?kind=prediction_corrected&value=0.25&note=Only+a+bit.", due, nil)
		b.follow(due+"?kind=prediction_voided&note=Unclear.", due, nil)
		if got := h.count("SELECT COUNT(*) FROM prediction_records WHERE status = 'void'"); got != 1 {
			t.Errorf("void: %d", got)
		}
		market := "/admin/settlement/markets/1"
		r = b.get(market + "?kind=market_corrected&outcome=Yes&note=It+rained.")
		if got := r.text("#rule-form"); !strings.Contains(got, "1 open") {
			t.Errorf("market preview: %q", got)
		}
		if got := b.get(market).text(".facts"); !strings.Contains(got, "Decided herenothing yet") {
			t.Errorf("before a ruling: %q", got)
		}
		r = b.follow(market+"?kind=market_corrected&outcome=Yes&note=It+rained.", market, nil)
		if got := r.text(".facts"); !strings.Contains(got, "Decided hereYes, by an admin") || !strings.Contains(got, "It rained.") {
			t.Errorf("after a ruling: %q", got)
		}
		b.follow(due, due+"/text", url.Values{"note": {"rude"}})
		if got := h.count("SELECT COUNT(*) FROM predictions WHERE hidden"); got != 1 {
			t.Errorf("hidden: %d", got)
		}
		changes, _, err := settlement.Corrections(t.Context(), db.Reader, settlement.CorrectionFilter{Limit: 10})
		if err != nil || len(changes) != 4 || changes[0].Actor != "eve" || changes[0].Note != "It rained." {
			t.Errorf("public changes: %+v, %v", changes, err)
		}
		page := b.get("/admin/audit?action=ruling")
		var filters []string
		page.doc.Find("select[name=action] option").Each(func(_ int, s *goquery.Selection) { filters = append(filters, s.AttrOr("value", "?")) })
		if want := append([]string{""}, audit.Actions()...); !slices.Equal(filters, want) {
			t.Errorf("the page filters by %q, want %q", filters, want)
		}
		log := page.text("tbody")
		for _, want := range []string{"open → Yes", "Yes → 0.25", "0.25 → void", "market corrected"} {
			if !strings.Contains(log, want) {
				t.Errorf("audit lacks %q: %s", want, log)
			}
		}
		if r := b.get(due + "?kind=prediction_corrected&value=7&note=x"); !strings.Contains(r.text(".field-error"), "from 0 to 1") {
			t.Errorf("a bad value: %s", r.text("main"))
		}
	})
}

// TestVoidOnMarket checks that the page of a void prediction on a market offers no ruling. It leads
// to the market if that decides the prediction, and else says that the void is final.
func TestVoidOnMarket(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		b := h.signedIn("eve")
		const market, rule = "/admin/settlement/markets/1", "section[aria-labelledby=rule] "
		page := "/admin/settlement/predictions/" + h.onMarket.ID.String()
		b.follow(market+"?kind=market_voided&note=Unclear.", market, nil)
		r := b.get(page)
		if got := r.text(rule + "p"); got != "This prediction is void. Its market decides it: 1" || r.doc.Find(rule+"a[href='"+market+"']").Length() != 1 {
			t.Errorf("after a void of its market: %q", got)
		}
		if r.doc.Find(rule+"form").Length() != 0 {
			t.Error("the page has a form without a ruling")
		}
		b.follow(market+"?kind=market_corrected&outcome=Yes&note=It+rained.", market, nil)
		if got := b.get(page).text(rule + "option"); got != "Void: exclude it from all scores" {
			t.Errorf("once its market is decided: %q", got)
		}
		r = b.follow(page+"?kind=prediction_voided&note=Unclear.", page, nil)
		if got := r.text(rule + "p"); !strings.Contains(got, "Its market no longer decides it") || r.doc.Find(rule+"form").Length() != 0 {
			t.Errorf("after its own void: %q", got)
		}
	})
}

func (h *house) count(query string, args ...any) (n int) {
	h.t.Helper()
	if err := h.db.NewRaw(query, args...).Scan(h.t.Context(), &n); err != nil {
		h.t.Fatal(err)
	}
	return n
}

func TestAssignmentsAndSources(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		b := h.signedIn("eve")
		const page = "/admin/assignments"
		if r := b.post(page, page, url.Values{"title": {"Will it hail?"}, "dueAt": {"tomorrow"}}); r.status != 422 || r.value("title") != "Will it hail?" || !strings.Contains(r.text("#dueAt-help"), "UTC") {
			t.Errorf("a bad moment: %d %s", r.status, r.text("#dueAt-help"))
		}
		r := b.follow(page, page, url.Values{"title": {"Will it hail?"}, "dueAt": {h.now.Add(48 * time.Hour).Format("2006-01-02 15:04")}, "category": {"Weather"}})
		one, _ := r.doc.Find("#assignment-form").Attr("action")
		r = b.follow(one, one, url.Values{"title": {"Will it hail a lot?"}, "instructions": {"Say."}})
		if r.text("h1") != "Will it hail a lot?" {
			t.Errorf("edited: %q", r.text("h1"))
		}
		if r = b.follow(one, one+"/close", nil); !strings.Contains(r.text("main"), "can't be changed") {
			t.Errorf("closed: %s", r.text("main"))
		}
		if got := b.get("/admin/audit?target=assignment:" + one[strings.LastIndex(one, "/")+1:]).text("tbody"); !strings.Contains(got, "assignment edited") || !strings.Contains(got, "Will it hail?") {
			t.Errorf("audit: %q", got)
		}
		if r = b.follow("/admin/sources", "/admin/sources/markets/tick", nil); h.ticks != 1 || !strings.Contains(r.text(".flash"), "read") {
			t.Errorf("tick: %d, %q", h.ticks, r.text(".flash"))
		}
		system := b.get("/admin/system").body
		for _, secret := range []string{"very-secret", "hidden-word"} {
			if strings.Contains(system, secret) {
				t.Errorf("the system page shows %q", secret)
			}
		}
		if got := b.get("/admin/system").text("#queues ~ .table-wrap"); !strings.Contains(got, "Predictions past their horizon without a market: an admin settles them1 20 minutes ago") {
			t.Errorf("queues: %s", got)
		}
		if got := b.get("/admin/system").text("main"); !strings.Contains(got, "REDIS_URL") {
			t.Error("the system page lacks the settings")
		}
	})
}

// TestSystemPageShowsBackups checks that the system page shows the backup schedule and its
// failures.
func TestSystemPageShowsBackups(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := openWith(t, db, base, func(c *config.Config) { c.BackupEvery, c.BackupDir = time.Hour, t.TempDir() })
		b := h.signedIn("eve")
		says := func(want ...string) {
			t.Helper()
			got := b.get("/admin/system").text("main")
			for _, w := range want {
				if !strings.Contains(got, w) {
					t.Errorf("the page lacks %q: %s", w, got)
				}
			}
		}
		state := func(s backup.State) {
			t.Helper()
			text, err := json.Marshal(s)
			if err == nil {
				err = database.SetSetting(t.Context(), db, "backup", string(text))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		says("Latest backup", "none yet")
		made := backup.State{Since: h.now, At: h.now, Name: "pulsecast-20261121.db", Bytes: 2_500_000, Predictions: 41}
		state(made)
		says("pulsecast-20261121.db, 2 MiB, 41 predictions")
		made.Failures, made.FailedAt = 3, h.now
		state(made)
		says("3 attempts failed since")
		if got := b.get("/admin").text(".concerns"); !strings.Contains(got, "The backups are late or fail") {
			t.Errorf("the overview says %q", got)
		}
		state(backup.State{Since: h.now, At: h.now.Add(-5 * time.Hour), Name: made.Name})
		says("late")
	})
}

// TestCSVIsHarmless checks that a spreadsheet doesn't run a text as a formula, and that it can read
// every number.
func TestCSVIsHarmless(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		b := h.signedIn("eve")
		b.follow("/admin/agents/ada", "/admin/agents/ada/status", url.Values{"note": {"@SUM(A1)"}})
		h.exec(`INSERT INTO board_rows (span, category, agent_id, position, model, reference, provisional, skill, skill_low, events, cluster_sum, cluster_squares, disagreements, resolved)
			VALUES ('all', '', ?, ?, '', FALSE, FALSE, -1.25, -0.00001, 3, 0, 0, 0, 0)`, h.agent.ID, h.agent.ID[:])
		number := regexp.MustCompile(`^-\d+(\.\d+)?(e-\d+)?$`)
		for path, want := range map[string]string{"/admin/agents?format=csv": "'=Ada", "/admin/audit?format=csv&action=agent_disabled": "'@SUM(A1)"} {
			r := b.get(path)
			if !strings.HasPrefix(r.header.Get("Content-Type"), "text/csv") {
				t.Errorf("%s is %s", path, r.header.Get("Content-Type"))
			}
			rows, err := csv.NewReader(strings.NewReader(r.body)).ReadAll()
			if err != nil || len(rows) != 2 || !strings.Contains(strings.Join(rows[1], "|"), want) {
				t.Errorf("%s: %v, %v", path, rows, err)
			}
			if i := slices.Index(rows[0], "skill"); i >= 0 && (rows[1][i] != "-1.25" || rows[1][i+1] != "-1e-05") {
				t.Errorf("%s: the skill is %q, from %q", path, rows[1][i], rows[1][i+1])
			}
			for _, cell := range rows[1] {
				if cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) && !number.MatchString(cell) {
					t.Errorf("%s: a spreadsheet runs %q", path, cell)
				}
			}
		}
		h.exec("UPDATE agents SET closed_at = ? WHERE handle = 'ada'", h.now)
		if table, file := b.get("/admin/agents").text("tbody"), b.get("/admin/agents?format=csv").body; !strings.Contains(table, "closed") || !strings.Contains(file, ",closed,") {
			t.Errorf("a closed account in the table: %s; in the file: %s", table, file)
		}
	})
}

// TestSourcesShowBadPayloads checks that bad payloads are shown as text with every control
// character visible, whatever their encoding.
func TestSourcesShowBadPayloads(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		h.exec("INSERT INTO bad_payloads (source, feed, reason, body, cut, received_at) VALUES ('polymarket', 'markets', 'no_id', ?, 1234, ?)",
			[]byte("<script>alert(1)</script>\n\x00\xff\u202etxt"), start.Add(-time.Minute))
		r := h.signedIn("eve").get("/admin/sources")
		if got := r.doc.Find(".payload pre").Text(); got != "<script>alert(1)</script>\n\\x00\\xff\\u202etxt" {
			t.Errorf("shows %q", got)
		}
		if got := r.text(".payload"); !strings.Contains(got, "polymarket: no_id") || !strings.Contains(got, "1,234 bytes after these are cut") {
			t.Errorf("says %q", got)
		}
		if strings.Contains(r.body, "<script>alert") {
			t.Error("the payload is part of the page")
		}
	})
}

// TestSourcesShowUnknownTags checks that unknown tags are shown as text, the most frequent first.
func TestSourcesShowUnknownTags(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		if r := h.signedIn("eve").get("/admin/sources"); r.doc.Find("#unknown-tags").Length() != 0 {
			t.Error("unknown tags without a market")
		}
		var list []market.Market
		for i, tags := range [][]string{{"nba", "lake-omber"}, {"<b>odd", "lake-omber"}} {
			list = append(list, market.Market{ID: fmt.Sprint("tagged", i), Source: "polymarket", Question: "Q?", Title: "Q?", Outcomes: []string{"Yes", "No"},
				Tags: tags, Active: true, ObservedAt: start})
		}
		if err := (market.Store{}).Observe(t.Context(), db, list); err != nil {
			t.Fatal(err)
		}
		r := h.signedIn("eve").get("/admin/sources")
		rows := r.doc.Find("section[aria-labelledby=unknown-tags] tbody tr").Map(func(_ int, s *goquery.Selection) string {
			return strings.Join(strings.Fields(s.Text()), " ")
		})
		if fmt.Sprint(rows) != "[lake-omber 2 <b>odd 1]" {
			t.Errorf("shows %q", rows)
		}
	})
}

// TestSystemPageShowsTheArchive checks the line of the archive: its last sealed day, what waits, and
// what went wrong.
func TestSystemPageShowsTheArchive(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		b := h.signedIn("eve")
		says := func(want string) {
			t.Helper()
			if got := b.get("/admin/system").text("main"); !strings.Contains(got, "Last day in the archive") || !strings.Contains(got, want) {
				t.Errorf("the page lacks %q: %s", want, got)
			}
		}
		exec := func(query string, args ...any) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
				t.Fatal(err)
			}
		}
		day := func(ago int) string { return h.now.AddDate(0, 0, -ago).Format(time.DateOnly) }
		says("none yet")
		says("0 days and 0 segments wait")
		for ago := range 3 {
			exec("INSERT INTO archive_segments (id, day, kind, source, records, content, created_at) VALUES (?, ?, 'prices', 'x', 0, ?, ?)", database.NewID(h.now), day(ago), []byte{1}, h.now)
		}
		says("2 days and 3 segments wait; late")
		manifest, err := (&archive.Manifest{Schema: archive.Schema, Day: day(2)}).Encode()
		if err != nil {
			t.Fatal(err)
		}
		exec("INSERT INTO archive_days (day, manifest, hash, sealed_at, abandoned) VALUES (?, ?, ?, ?, FALSE)", day(2), string(manifest), []byte{1}, h.now)
		says(day(2))
		says("1 day and 3 segments wait")
		if err := database.SetSetting(t.Context(), db, "archive", `{"Failures":4}`); err != nil {
			t.Fatal(err)
		}
		says("4 runs of the job failed since")
	})
	h := openWith(t, openSQLite(t), base, func(c *config.Config) { c.ArchiveURL = archive.Off })
	if got := h.signedIn("eve").get("/admin/system").text("main"); !strings.Contains(got, "there is no archive") {
		t.Errorf("the page without an archive: %s", got)
	}
}
