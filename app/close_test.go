package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
)

// TestClosedAccount checks that after an account is closed no column of the database contains its
// words, its numbers stay, the boards and the ledger agree, and no other agent can take its handle.
func TestClosedAccount(t *testing.T) {
	t.Parallel()
	for _, kind := range []database.Kind{database.SQLite, database.Postgres} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			closeAccount(t, demoURL(t, kind))
		})
	}
}

func closeAccount(t *testing.T, url string) {
	t.Helper()
	p, _ := startDemo(t, "DATABASE_URL="+url, "RATE_LIMIT_READS=off")
	register := func(name string) (handle, key string) {
		_, made := p.call("POST", "/api/agents", "", map[string]any{"name": name, "model": "okapi-9", "description": "Counts marzipan.",
			"framework": "Quaggaframe", "homepage": "https://quagga.example"})
		return fmt.Sprint(dig(made, "agent", "handle")), fmt.Sprint(made["apiKey"])
	}
	handle, key := register("Quagga Oracle")
	_, made := p.call("POST", "/api/agents", "", map[string]any{"name": "Bystander"})
	other := fmt.Sprint(made["apiKey"])
	_, markets := p.call("GET", "/api/intelligence/markets?limit=2", "", nil)
	var ids []string
	for i, reveal := range []string{"now", "close"} {
		body := map[string]any{"title": "Will the zebrafish census pass?", "thesis": "Nets full of axolotls.", "confidence": 0.4273, "reveal": reveal,
			"horizonAt": time.Now().AddDate(0, 1, 0).UTC(), "marketId": dig(markets, "markets", i, "id"), "model": "okapi-10", "category": "ichthyology",
			"evidence": []any{map[string]any{"title": "A ledger of pangolins", "url": "https://example.org/pangolins"}}}
		status, made := p.publishOnce("once-"+reveal, key, body)
		if status != 200 {
			t.Fatalf("%d %v", status, made)
		}
		ids = append(ids, fmt.Sprint(dig(made, "prediction", "id")))
	}
	p.call("POST", "/api/predictions/"+ids[0]+"/report", other, map[string]any{"kind": "other", "text": "It says zebrafish too often."})
	_, session := p.call("POST", "/api/session", "", map[string]any{"apiKey": key})
	token := fmt.Sprint(dig(session, "session", "token"))

	for name, c := range map[string]struct {
		bearer string
		body   map[string]any
		status int
	}{
		"no confirmation": {key, map[string]any{}, 422}, "another handle": {key, map[string]any{"confirm": "bystander"}, 422},
		"a session": {token, map[string]any{"confirm": handle}, 422}, "no key": {"", map[string]any{"confirm": handle}, 401},
	} {
		if status, a := p.call("DELETE", "/api/agents/me", c.bearer, c.body); status != c.status {
			t.Errorf("%s: %d %v", name, status, a)
		}
	}
	status, closed := p.call("DELETE", "/api/agents/me", key, map[string]any{"confirm": handle})
	neutral := fmt.Sprint(dig(closed, "agent", "handle"))
	if status != 200 || closed["complete"] != true || dig(closed, "erased", "predictions") != 2.0 || dig(closed, "erased", "answers") != 2.0 ||
		dig(closed, "erased", "reports") != 1.0 || dig(closed, "agent", "status") != "closed" || !strings.HasPrefix(neutral, "closed-") {
		t.Fatalf("%d %v", status, closed)
	}
	for name, bearer := range map[string]string{"key": key, "session": token} {
		if status, a := p.call("GET", "/api/stats", bearer, nil); status != 401 {
			t.Errorf("the %s still works: %d %v", name, status, a)
		}
	}
	checkErased(t, url, []string{"quagga", "okapi", "marzipan", "zebrafish", "axolotl", "pangolin", "ichthyology"})

	_, kept := p.call("GET", "/api/predictions/"+ids[0], "", nil)
	if dig(kept, "prediction", "confidence") != 0.4273 || dig(kept, "prediction", "agent", "handle") != neutral ||
		dig(kept, "prediction", "title") != "[erased: the account was closed]" {
		t.Errorf("what stays: %v", kept)
	}
	_, sealed := p.call("GET", "/api/predictions/"+ids[1], "", nil)
	if dig(sealed, "prediction", "confidence") != nil || dig(sealed, "prediction", "hash") == nil {
		t.Errorf("before the reveal: %v", sealed)
	}
	closeMarket(t, url, fmt.Sprint(dig(markets, "markets", 1, "id")))
	p.until("/api/predictions/"+ids[1], "", func(a map[string]any) bool { return dig(a, "prediction", "confidence") == 0.4273 })

	_, page := p.fetch(&http.Client{}, "/agents/"+neutral)
	if !bytes.Contains(page, []byte("This account was closed")) {
		t.Errorf("its page:\n%.2000s", page)
	}
	if status, _ := p.call("GET", "/api/agents/"+handle, "", nil); status != 404 {
		t.Errorf("the page of the old handle: got %d", status)
	}
	if again, _ := register("Quagga Oracle"); again == handle || again == "<nil>" {
		t.Errorf("another agent got the handle %q", again)
	}
	out, err := command(t, []string{"DATABASE_URL=" + url}, "settle", "--rebuild").CombinedOutput()
	if err != nil {
		t.Errorf("settle --rebuild: %v\n%s", err, out)
	}
	out, err = command(t, nil, "verify", p.base).CombinedOutput()
	checkVerified(t, "verify", "", string(out), err)
	if out, err := command(t, []string{"DATABASE_URL=" + url}, "agent", "close", "bystander").CombinedOutput(); err != nil || !bytes.Contains(out, []byte("is closed")) {
		t.Errorf("agent close: %v\n%s", err, out)
	}
	for _, args := range [][]string{{"agent", "list"}, {"agent", "show", neutral}} {
		out, err := command(t, []string{"DATABASE_URL=" + url}, args...).CombinedOutput()
		if err != nil || !regexp.MustCompile(`(?m)(^status|^`+neutral+` .*) +closed( |$)`).Match(out) {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	checkErased(t, url, []string{"bystander"})
}

// publishOnce publishes with an Idempotency-Key.
func (p *process) publishOnce(once, key string, body map[string]any) (status int, answer map[string]any) {
	p.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, p.base+"/api/predictions", bytes.NewReader(raw))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}, "Idempotency-Key": {once}}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, answer
}

// checkErased fails for each word that any column of the database contains.
func checkErased(t *testing.T, url string, words []string) {
	t.Helper()
	db, err := database.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	columns := textColumns(t, db)
	if len(columns) < 100 {
		t.Fatalf("found only %d columns", len(columns))
	}
	for _, c := range columns {
		for _, word := range words {
			var n int
			bytesOf := `CAST("` + c[1] + `" AS TEXT)` // of a bytea: hexadecimal digits
			if !database.IsPostgres(db) {
				bytesOf = `hex("` + c[1] + `")`
			}
			query := fmt.Sprintf(`SELECT COUNT(*) FROM "%s" WHERE lower(CAST("%s" AS TEXT)) LIKE '%%%s%%' OR lower(%s) LIKE '%%%x%%'`,
				c[0], c[1], word, bytesOf, word)
			if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			if n > 0 {
				t.Errorf("%s.%s contains %q in %d rows", c[0], c[1], word, n)
			}
		}
	}
}

// textColumns lists the columns of all tables.
func textColumns(t *testing.T, db *database.DB) (columns [][2]string) {
	t.Helper()
	query := "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
	if !database.IsPostgres(db) {
		query = `SELECT m.name, c.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c
			WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE '%_docsize' AND m.name NOT LIKE '%_idx' AND m.name NOT LIKE '%_config'`
	}
	rows, err := db.QueryContext(context.Background(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var c [2]string
		if err := rows.Scan(&c[0], &c[1]); err != nil {
			t.Fatal(err)
		}
		columns = append(columns, c)
	}
	return columns
}
