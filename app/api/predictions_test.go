package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
)

// TestPublishRefuses checks that every bad request is refused with the code of the rule it breaks, and that
// nothing is stored.
func TestPublishRefuses(t *testing.T) {
	t.Parallel()
	past := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	evidence := func(title, url any) map[string]any {
		return map[string]any{"evidence": []any{map[string]any{"title": title, "url": url}}}
	}
	fields := []struct {
		name    string
		change  map[string]any
		field   string
		teaches string // part of the message
	}{
		{"no title", map[string]any{"title": nil}, "title", "required"},
		{"empty title", map[string]any{"title": "  "}, "title", "required"},
		{"invisible title", map[string]any{"title": "\u200b"}, "title", "required"},
		{"invisible title of a market", map[string]any{"title": "\u2060 ", "marketId": "no-such"}, "title", "required"},
		{"invisible thesis", map[string]any{"thesis": "\u2060\n\u200b"}, "thesis", "required"},
		{"evidence with an invisible title", evidence("\u200b", "https://example.org"), "evidence[0].title", "required"},
		{"tags in a title", map[string]any{"title": "Will it rain?\U000e0041\U000e0042"}, "title", "2 invisible characters to leave out, the first U+E0041"},
		{"zero-width space in a title", map[string]any{"title": "a\u200bb"}, "title", "U+200B"},
		{"joiner in a category", map[string]any{"category": "a\u200db"}, "category", "U+200D"},
		{"direction mark in a model", map[string]any{"model": "gpt-5\u200e"}, "model", "U+200E"},
		{"tag in the title of evidence", evidence("a\U000e0041", "https://example.org"), "evidence[0].title", "U+E0041"},
		{"null title", map[string]any{"title": nil}, "title", "required"},
		{"title of another type", map[string]any{"title": 7}, "title", "must be a string, got a number"},
		{"NUL in title", map[string]any{"title": "a\x00b"}, "title", "U+0000"},
		{"line break in title", map[string]any{"title": "a\nb"}, "title", "line"},
		{"bidi override in thesis", map[string]any{"thesis": "a\u202eb"}, "thesis", "U+202E"},
		{"bidi isolate in title", map[string]any{"title": "a\u2067b"}, "title", "U+2067"},
		{"no thesis", map[string]any{"thesis": nil}, "thesis", "required"},
		{"no confidence", map[string]any{"confidence": nil}, "confidence", "0.72"},
		{"confidence in percent", map[string]any{"confidence": 72}, "confidence", "send 0.72"},
		{"confidence just above 1", map[string]any{"confidence": 1.0000000000000002}, "confidence", "must be a probability from 0 to 1, for example 0.72"},
		{"negative confidence", map[string]any{"confidence": -0.1}, "confidence", "from 0 to 1"},
		{"huge confidence", map[string]any{"confidence": 1e300}, "confidence", "from 0 to 1"},
		{"confidence as text", map[string]any{"confidence": "0.72"}, "confidence", "must be a number, got a string"},
		{"no horizon", map[string]any{"horizonAt": nil}, "horizonAt", "RFC 3339"},
		{"past horizon", map[string]any{"horizonAt": past}, "horizonAt", "future"},
		{"horizon without zone", map[string]any{"horizonAt": "2027-01-01T00:00:00"}, "horizonAt", "RFC 3339"},
		{"horizon as number", map[string]any{"horizonAt": 1800000000}, "horizonAt", "got a number"},
		{"unknown market", map[string]any{"marketId": "no-such"}, "marketId", "not a known market"},
		{"outcome alone", map[string]any{"outcome": "Yes"}, "outcome", "needs marketId"},
		{"empty reveal", map[string]any{"reveal": ""}, "reveal", `send "now", "baseline" or "close"`},
		{"blank reveal", map[string]any{"reveal": " "}, "reveal", `"baseline"`},
		{"evidence not a list", map[string]any{"evidence": "x"}, "evidence", "array"},
		{"evidence item not an object", map[string]any{"evidence": []any{1}}, "evidence[0]", "object"},
		{"evidence without title", evidence(nil, "https://example.org"), "evidence[0].title", "required"},
		{"address with a user", evidence("t", "https://known.example@other.example/a"), "evidence[0].url", "send https://other.example/a"},
		{"javascript address", evidence("t", "javascript:alert(1)"), "evidence[0].url", "http(s)"},
		{"relative address", evidence("t", "/x"), "evidence[0].url", "http(s)"},
		{"address without host", evidence("t", "https:///x"), "evidence[0].url", "http(s)"},
		{"address as number", evidence("t", 3), "evidence[0].url", "must be a string"},
	}
	raw := []struct {
		name, body  string
		header      map[string]string
		status      int
		code, tells string
	}{
		{name: "empty body", body: "", status: 400, code: "invalid_json", tells: "empty"},
		{name: "not JSON", body: "title=x", status: 400, code: "invalid_json"},
		{name: "cut short", body: `{"title":"x"`, status: 400, code: "invalid_json"},
		{name: "array", body: `[]`, status: 400, code: "invalid_json", tells: "one JSON object"},
		{name: "null", body: `null`, status: 400, code: "invalid_json", tells: "one JSON object"},
		{name: "two objects", body: `{} {}`, status: 400, code: "invalid_json", tells: "more than one"},
		{name: "duplicate keys", body: `{"title":"a","title":"b"}`, status: 400, code: "invalid_json"},
		{name: "duplicate keys inside", body: `{"evidence":[{"url":"a","url":"b"}]}`, status: 400, code: "invalid_json"},
		{name: "invalid UTF-8", body: "{\"title\":\"\xff\"}", status: 400, code: "invalid_json"},
		{name: "lone surrogate", body: `{"title":"\ud800"}`, status: 400, code: "invalid_json"},
		{name: "NaN", body: `{"confidence":NaN}`, status: 400, code: "invalid_json"},
		{name: "deep nesting", body: strings.Repeat("[", 20_000), status: 400, code: "invalid_json"},
		{name: "number out of range", body: `{"confidence":1e999}`, status: 422, code: "invalid_prediction", tells: "confidence is too large a number"},
		{name: "thousands of wrong items", body: `{"evidence":[0` + strings.Repeat(",0", 30_000) + `]}`, status: 422, code: "invalid_prediction", tells: "And 2 more"},
		{name: "64 KiB and a byte", body: `{"title":"` + strings.Repeat("x", 64<<10+1-12) + `"}`, status: 413, code: "payload_too_large"},
		{name: "wrong content type", body: "{}", header: map[string]string{"Content-Type": "text/plain"}, status: 415, code: "unsupported_media_type", tells: "application/json"},
		{name: "no content type", body: "{}", header: map[string]string{"Content-Type": ""}, status: 415, code: "unsupported_media_type"},
		{name: "another charset", body: "{}", header: map[string]string{"Content-Type": "application/json; charset=latin1"}, status: 415, code: "unsupported_media_type"},
		{name: "idempotency key with spaces", body: "{}", header: map[string]string{"Idempotency-Key": "a b"}, status: 400, code: "invalid_parameter"},
		{name: "empty idempotency key", body: "{}", header: map[string]string{"Idempotency-Key": `""`}, status: 400, code: "invalid_parameter"},
	}
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Strict")
		for _, c := range fields {
			a := s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(c.change)})
			a.refused(http.StatusUnprocessableEntity, "invalid_prediction")
			if a.text("errors", 0, "field") != c.field || !strings.Contains(a.text("errors", 0, "message"), c.teaches) || a.count("errors") != 1 {
				t.Errorf("%s: %s", c.name, a.raw)
			}
		}
		for _, c := range raw {
			a := s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: c.body, header: c.header})
			if detail := a.refused(c.status, c.code); !strings.Contains(detail, c.tells) {
				t.Errorf("%s: %s", c.name, detail)
			}
		}
		// A prediction can't be deleted, so a mistyped dry run must not publish.
		for _, query := range []string{"dryRun", "dryRun=", "dryRun=1", "dryRun=TRUE", "dryRun=true&dryRun=true"} {
			s.do(t, call{method: "POST", path: "/api/predictions?" + query, bearer: key, body: forecast(nil)}).refused(400, "invalid_parameter")
		}
		if n := s.do(t, call{path: "/api/predictions"}).fine().count("predictions"); n != 0 {
			t.Errorf("%d predictions stored", n)
		}
	})
}

// TestPublishBounds checks that a publish with the largest or smallest allowed value of a field is stored as it was sent,
// and that the next value is refused with the bound.
func TestPublishBounds(t *testing.T) {
	t.Parallel()
	evidence := func(n, title, address int) any {
		list := make([]any, n)
		for i := range list {
			url := "https://example.org/"
			list[i] = map[string]any{"title": strings.Repeat("é", title), "url": url + strings.Repeat("x", address-len(url))}
		}
		return list
	}
	chars := func(n int) any { return strings.Repeat("é", n) }
	tenYears := time.Now().AddDate(10, 0, 0).UTC()
	at := func(shift time.Duration) string { return tenYears.Add(shift).Format(time.RFC3339) }
	bounds := []struct {
		field        string
		good, beyond any
		wrong, tells string // the refused field, and a part of its message
	}{
		{"title", chars(300), chars(301), "title", "300"},
		{"thesis", chars(10_000), chars(10_001), "thesis", "10000"},
		{"category", chars(64), chars(65), "category", "64"},
		{"model", chars(80), chars(81), "model", "80"},
		{"confidence", 0, -0.0001, "confidence", "from 0 to 1"},
		{"confidence", 1, 1.0001, "confidence", "from 0 to 1"},
		{"confidence", 0.1234, 0.12345, "confidence", "four decimals"},
		{"horizonAt", at(-time.Minute), at(time.Hour), "horizonAt", "10 years"},
		{"horizonAt", strings.ToLower(at(-time.Hour)), strings.TrimSuffix(at(-time.Hour), "Z"), "horizonAt", "RFC 3339"},
		{"evidence", evidence(20, 1, 30), evidence(21, 1, 30), "evidence", "at most 20"},
		{"evidence", evidence(1, 300, 30), evidence(1, 301, 30), "evidence[0].title", "300"},
		{"evidence", evidence(1, 1, 2048), evidence(1, 1, 2049), "evidence[0].url", "2048"},
	}
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Edge")
		publish := func(change map[string]any, header map[string]string) answer {
			return s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(change), header: header})
		}
		for _, b := range bounds {
			id := publish(map[string]any{b.field: b.good}, nil).fine().text("prediction", "id")
			stored := s.do(t, call{path: "/api/predictions/" + id, bearer: key}).fine()
			if sent, ok := b.good.([]any); ok {
				if n := stored.count("prediction", b.field); n != len(sent) {
					t.Errorf("%s: %d of %d are stored", b.field, n, len(sent))
				}
			} else if got, want := stored.text("prediction", b.field), fmt.Sprint(b.good); !strings.EqualFold(got, want) {
				t.Errorf("%s: %.80s is stored, want %.80s", b.field, got, want)
			}
			refused := publish(map[string]any{b.field: b.beyond}, nil)
			refused.refused(http.StatusUnprocessableEntity, "invalid_prediction")
			if refused.text("errors", 0, "field") != b.wrong || !strings.Contains(refused.text("errors", 0, "message"), b.tells) || refused.count("errors") != 1 {
				t.Errorf("%s: %.600s", b.field, refused.raw)
			}
		}
		longest := strings.Repeat("k", 255)
		for _, sent := range []string{longest, `"` + longest + `"`} { // the second is a repeat
			publish(nil, map[string]string{"Idempotency-Key": sent}).fine()
		}
		for _, sent := range []string{longest + "k", `"` + longest + `k"`} {
			if detail := publish(nil, map[string]string{"Idempotency-Key": sent}).refused(http.StatusBadRequest, "invalid_parameter"); !strings.Contains(detail, "255") {
				t.Errorf("%d bytes as a key: %s", len(sent), detail)
			}
		}
		stored := 0
		for next := ""; ; {
			page := s.do(t, call{path: "/api/predictions?limit=100" + next, bearer: key}).fine()
			stored += page.count("predictions")
			if page.at("nextCursor") == nil {
				break
			}
			next = "&cursor=" + page.text("nextCursor")
		}
		if stored != len(bounds)+1 {
			t.Errorf("%d predictions are stored, want %d", stored, len(bounds)+1)
		}
	})
}

// Unknown fields are named at every level, and the length of the answer is bounded.
func TestPublishNamesUnknownFields(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Chatty")
		publish := func(change map[string]any) answer {
			return s.do(t, call{method: "POST", path: "/api/predictions?dryRun=true", bearer: key, body: forecast(change)}).fine()
		}
		a := publish(map[string]any{"evidence": []any{map[string]any{"title": "t", "url": "https://example.org", "quote": "q"}}})
		if !strings.Contains(a.text("warnings", 0), `"evidence[0].quote"`) {
			t.Errorf("%s", a.raw)
		}
		many := map[string]any{}
		for i := range 3000 {
			many[fmt.Sprintf("k%d", i)] = 1
		}
		if a := publish(many); a.count("warnings") > 25 || !strings.Contains(a.text("warnings", 20), "2980 more") {
			t.Errorf("%d warnings, %d bytes", a.count("warnings"), len(a.raw))
		}
	})
}

func TestNoNegativeZero(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		body := fmt.Sprintf(`{"title":"Zero?","thesis":"x","confidence":-0.0,"horizonAt":%q}`, forecast(nil)["horizonAt"])
		a := s.do(t, call{method: "POST", path: "/api/predictions", bearer: s.register(t, "Nil"), body: body}).fine()
		if strings.Contains(string(a.raw), `"confidence":-0`) || !strings.HasPrefix(a.text("readAs"), "0 %") {
			t.Errorf("%s", a.raw)
		}
	})
}

func TestEveryWrongFieldIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		a := s.do(t, call{method: "POST", path: "/api/predictions", bearer: s.register(t, "Ada"), body: map[string]any{"confidence": "high", "title": 1}})
		a.refused(422, "invalid_prediction")
		if n := a.count("errors"); n != 4 {
			t.Errorf("%d errors in %s", n, a.raw)
		}
	})
}

func TestNothingTheAgentWroteOfAHiddenPrediction(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada Lovelace")
		rude := map[string]any{"title": "Rudeword?", "thesis": "Rudeword.", "category": "rudeword", "model": "Rudeword",
			"evidence": []any{map[string]any{"title": "Rudeword", "url": "https://example.org/rudeword"}}}
		id := s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(rude)}).fine().text("prediction", "id")
		db, err := database.Open(t.Context(), s.Config().DatabaseURL)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(t.Context(), "UPDATE predictions SET hidden = TRUE"); err != nil {
			t.Fatal(err)
		}
		one := s.do(t, call{path: "/api/predictions/" + id}).fine()
		if one.text("prediction", "hidden") != "true" || one.text("prediction", "category") != "general" || strings.Contains(strings.ToLower(string(one.raw)), "rudeword") {
			t.Errorf("hidden: %s", one.raw)
		}
		for path, want := range map[string]int{"/api/predictions?category=rudeword": 0, "/api/predictions?status=open": 1} {
			if n := s.do(t, call{path: path}).fine().count("predictions"); n != want {
				t.Errorf("%s finds %d, want %d", path, n, want)
			}
		}
	})
}

func TestPublishAndReadBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada Lovelace")
		dry := s.do(t, call{method: "POST", path: "/api/predictions?dryRun=true", bearer: key, body: forecast(nil)}).fine()
		if n := s.do(t, call{path: "/api/predictions"}).fine().count("predictions"); n != 0 || dry.text("readAs") == "" {
			t.Fatalf("a dry run stored %d", n)
		}
		if last := dry.text("warnings", dry.count("warnings")-1); !strings.Contains(last, "nothing was stored") {
			t.Errorf("a dry run warns %q", last)
		}
		a := s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(map[string]any{
			"mood": "sunny", "category": "Weather", "thesis": "One line.\nAnother <b>line</b> & more 🇳🇴 👩🏽‍🚀.",
		})}).fine()
		for path, want := range map[string]string{
			"title": "Will the sun rise?", "thesis": "One line.\nAnother <b>line</b> & more 🇳🇴 👩🏽‍🚀.", "confidence": "0.72",
			"category": "weather", "model": "m-1", "status": "open", "hidden": "false", "sample": "false",
			"market": "<nil>", "baseline": "<nil>", "weight": "<nil>", "resolution": "<nil>", "scores": "<nil>", "liveEdge": "<nil>",
		} {
			if got := a.text("prediction", path); got != want {
				t.Errorf("%s is %q, want %q", path, got, want)
			}
		}
		if !strings.Contains(a.text("warnings", 0), `"mood"`) || !strings.Contains(a.text("readAs"), "72 %") {
			t.Errorf("warnings and readAs: %s", a.raw)
		}
		id := a.text("prediction", "id")
		one := s.do(t, call{path: "/api/predictions/" + id}).fine()
		listed := s.do(t, call{path: "/api/predictions?agent=ada-lovelace&category=WEATHER&status=open&q=another+line"}).fine()
		if one.text("prediction", "id") != id || listed.text("predictions", 0, "id") != id || listed.at("nextCursor") != nil {
			t.Errorf("read back %s and %s", one.raw, listed.raw)
		}
		for _, path := range []string{"/api/predictions/x", "/api/predictions/" + strings.Replace(id, "7", "8", 1)} {
			s.do(t, call{path: path}).refused(404, "not_found")
		}
		stats := s.do(t, call{path: "/api/stats", bearer: key}).fine()
		if stats.text("stats", "predictions", "total") != "1" || stats.text("stats", "predictions", "open") != "1" {
			t.Errorf("stats %s", stats.raw)
		}
	})
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		send := func(idempotency string, change map[string]any) answer {
			return s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(change), header: map[string]string{"Idempotency-Key": idempotency}})
		}
		horizon := map[string]any{"horizonAt": time.Now().AddDate(0, 2, 0).UTC().Format(time.RFC3339)}
		first := send("abc", horizon).fine()
		if again := send(`"abc"`, horizon).fine(); string(again.raw) != string(first.raw) {
			t.Errorf("the second answer differs:\n%s\n%s", first.raw, again.raw)
		}
		send("abc", map[string]any{"title": "Another?"}).refused(422, "idempotency_mismatch")
		other := s.register(t, "Bob")
		a := s.do(t, call{method: "POST", path: "/api/predictions", bearer: other, body: forecast(horizon), header: map[string]string{"Idempotency-Key": "abc"}}).fine()
		if a.text("prediction", "id") == first.text("prediction", "id") {
			t.Error("two agents share one key")
		}
		if n := s.do(t, call{path: "/api/predictions"}).count("predictions"); n != 2 {
			t.Errorf("%d predictions", n)
		}
	})
}

// TestIdempotencyKeyAfterTheHorizon checks that a repeat gets the first answer when its horizon has passed. Otherwise an
// agent that missed the answer would publish again under another key.
func TestIdempotencyKeyAfterTheHorizon(t *testing.T) {
	t.Parallel()
	eachBench(t, func(t *testing.T, b *bench) {
		key := b.register(t, "Ada")
		body := forecast(map[string]any{"horizonAt": b.now().Add(time.Minute).UTC().Format(time.RFC3339)})
		send := func(idempotency string) answer {
			return b.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: body, header: map[string]string{"Idempotency-Key": idempotency}})
		}
		first := send("abc").fine()
		b.ahead.Store(int64(time.Hour))
		if again := send("abc").fine(); string(again.raw) != string(first.raw) {
			t.Errorf("the second answer differs:\n%s\n%s", first.raw, again.raw)
		}
		send("another").refused(422, "invalid_prediction")
		b.do(t, call{method: "POST", path: "/api/predictions?dryRun=true", bearer: key, body: body, header: map[string]string{"Idempotency-Key": "abc"}}).
			refused(422, "invalid_prediction")
		body["title"] = "Another?"
		send("abc").refused(422, "idempotency_mismatch")
		if n := b.do(t, call{path: "/api/predictions"}).count("predictions"); n != 1 {
			t.Errorf("%d predictions", n)
		}
	})
}

func TestManyPublishAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Busy")
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() {
				s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(map[string]any{"title": fmt.Sprintf("Number %d?", i)})}).fine()
			})
		}
		wg.Wait()
		seen, cursor := map[string]bool{}, ""
		for {
			page := s.do(t, call{path: "/api/predictions?limit=7&cursor=" + cursor}).fine()
			for i := range page.count("predictions") {
				seen[page.text("predictions", i, "id")] = true
			}
			if page.at("nextCursor") == nil {
				break
			}
			cursor = page.text("nextCursor")
		}
		if len(seen) != 30 {
			t.Errorf("paged through %d of 30", len(seen))
		}
	})
}
