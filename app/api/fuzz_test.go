package api

import (
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

// fuzzContext returns a request as a handler sees it.
func fuzzContext(t *testing.T, app *fiber.App) *fiber.Ctx {
	c := app.AcquireCtx(&fasthttp.RequestCtx{})
	t.Cleanup(func() { app.ReleaseCtx(c) })
	return c
}

// refusedWell fails unless err is nil or a refusal with a 4xx status.
func refusedWell(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if p, ok := errors.AsType[*problem.Error](err); !ok || p.Status < 400 || p.Status >= 500 || p.Detail == "" {
		t.Errorf("refused by %v", err)
	}
}

// FuzzPublish checks that a body is refused or gives a draft within every bound.
func FuzzPublish(f *testing.F) {
	for _, seed := range []string{
		`{"title":"T","thesis":"t","confidence":0.7,"horizonAt":"2027-01-01T00:00:00Z","evidence":[{"title":"a","url":"https://x.org"}]}`,
		`{"market_id":"m","Confidence":"70 %","horizon_at":1}`, `{"title":"\u202e","thesis":"\u0000"}`, `{"evidence":[{"Url":"javascript:x"}]}`,
		`{"title":1,"title":2}`, `[]`, `{`, "\xff", `{"confidence":1e999}`, `{"horizonAt":"2026-02-30T00:00:00Z"}`, `{"evidence":{}}`, `{"dryRun":"true"}`, `null`,
		`{"horizonAt":"2026-12-31T23:59:60+24:00"}`, `{"reveal":"never"}`, strings.Repeat(`{"a":`, 200),
	} {
		f.Add([]byte(seed), "application/json")
	}
	f.Add([]byte("{}"), "application/json; charset=utf-8")
	f.Add([]byte("{}"), "multipart/form-data; boundary=\"")
	app := fiber.New()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		c := fuzzContext(t, app)
		c.Request().SetBody(body)
		c.Request().Header.SetContentType(contentType)
		o, err := readObject(c)
		if refusedWell(t, err); err != nil {
			return
		}
		draft, _, warnings := readDraft(o)
		if wrong := checkDraft(o, &draft, now); len(wrong) > 0 {
			refusedWell(t, problem.InvalidPrediction(wrong...))
			return
		}
		if p := draft.Confidence; p == nil || !(*p >= 0 && *p <= 1) {
			t.Errorf("confidence %v of %q", p, body)
		}
		if utf8.RuneCountInString(draft.Title) > prediction.MaxTitle || len(draft.Evidence) > prediction.MaxEvidence || len(warnings) > 100 {
			t.Errorf("a draft out of bounds: %+v", draft)
		}
		if at := draft.HorizonAt; at != nil && (at.Before(now) || at.After(now.AddDate(10, 0, 1))) {
			t.Errorf("horizon %s of %q", at, body)
		}
		for _, e := range draft.Evidence {
			if !strings.HasPrefix(strings.ToLower(e.URL), "http") {
				t.Errorf("evidence at %q", e.URL)
			}
		}
	})
}

// FuzzFields checks the readers that the bodies of all operations share: whatever a field holds, it is read as
// a value within bounds, or the refusal says what to send instead.
func FuzzFields(f *testing.F) {
	for _, seed := range []string{
		`{"apiKey":"pk_x","name":"Ada","graceSeconds":60,"confirm":"ada","kind":"spam","label":null}`, `{"graceSeconds":-1}`, `{"graceSeconds":1e300}`, `{"graceSeconds":0.5}`,
		`{"predictions":[{"title":"T"},1,null,{"dryRun":true},{"evidence":[[]]}]}`, `{"a":"\ud800"}`, `{"a":"72 %"}`, `{"a":1e999}`, `{"":{}}`, `{"a":[[[]]]}`, `{"a":"2026-02-30T00:00:00Z"}`,
	} {
		f.Add([]byte(seed))
	}
	app := fiber.New()
	a := &API{Now: func() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }}
	f.Fuzz(func(t *testing.T, body []byte) {
		c := fuzzContext(t, app)
		c.Request().SetBody(body)
		c.Request().Header.SetContentType(fiber.MIMEApplicationJSON)
		o, err := readObject(c)
		if refusedWell(t, err); err != nil {
			return
		}
		if grace := readGrace(o); grace < 0 || grace > maxGrace {
			t.Errorf("grace %s of %q", grace, body)
		}
		for _, name := range append(slices.Collect(maps.Keys(o.fields)), "absent") {
			if s := o.text(name); !utf8.ValidString(s) {
				t.Errorf("text %q of %q", s, body)
			}
			if s := o.change(name); s != nil && *s != o.text(name) {
				t.Errorf("text %q and %q of %q", *s, o.text(name), body)
			}
			if n := o.number(name); n != nil && (math.IsNaN(*n) || math.IsInf(*n, 0)) {
				t.Errorf("number %v of %q", *n, body)
			}
			o.boolean(name)
			o.time(name)
			for _, raw := range o.array(name, 3) {
				item := a.readBatchItem(raw)
				refusedWell(t, item.Refused)
				if item.Refused == nil && item.Draft.Confidence == nil {
					t.Errorf("an item without confidence in %q", body)
				}
			}
			if list := o.objects(name, 3); len(list) > 3 {
				t.Errorf("%d objects in %q", len(list), body)
			}
		}
		if len(o.unknown()) > 0 {
			t.Errorf("unread fields %q of %q", o.unknown(), body)
		}
		for _, wrong := range o.wrong {
			if wrong.Message == "" || !utf8.ValidString(wrong.Message) || len(wrong.Message) > 1000 {
				t.Errorf("refused %q of %q as %q", wrong.Field, body, wrong.Message)
			}
		}
	})
}

// FuzzIdempotencyKey checks that an accepted key is visible ASCII of a bounded length.
func FuzzIdempotencyKey(f *testing.F) {
	for _, seed := range []string{"a", `"a"`, `"`, `""`, "a b", "ü", strings.Repeat("k", 256), "\t"} {
		f.Add([]byte(seed))
	}
	app := fiber.New()
	f.Fuzz(func(t *testing.T, value []byte) {
		c := fuzzContext(t, app)
		c.Request().Header.SetBytesV("Idempotency-Key", value)
		key, err := idempotencyKey(c)
		refusedWell(t, err)
		if len(key) > 255 || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) || (err == nil && key == "") {
			t.Errorf("%q gives the key %q, %v", value, key, err)
		}
	})
}

// FuzzLastEventID checks that a position in the stream is never negative.
func FuzzLastEventID(f *testing.F) {
	for _, seed := range []string{"", "0", "-1", "9223372036854775808", "+5", "0x1", "1 "} {
		f.Add(seed)
	}
	app := fiber.New()
	f.Fuzz(func(t *testing.T, value string) {
		c := fuzzContext(t, app)
		c.Request().Header.Set("Last-Event-ID", value)
		number, err := lastEventID(c)
		if refusedWell(t, err); number != nil && *number < 0 {
			t.Errorf("%q gives %d", value, *number)
		}
	})
}

// FuzzQueries checks that every operation refuses a query with a problem, or reads it the same way twice.
func FuzzQueries(f *testing.F) {
	for _, seed := range []string{
		"", "limit=24&cursor=AQEx", "status=void&sort=edge&q=rain&agent=ada", "window=30d&category=crypto", "since=abc", "types=prediction.settled,market.moved",
		"closesBefore=2026-12-01T00:00:00Z&tag=x", "a=x&b=y", "from=2026-11-21T00:00:00Z&to=2026-11-22T00:00:00%2B14:00&every=10m", "every=31d&to=9999-12-31T23:59:59Z", "every=-1h", "every=1m1", "from=0000-01-01T00:00:00Z", "q=%00", "q=%ff", "limit=1&limit=2", "community=worldnews", "done=true", "q=%E2%80%AE", ";&=&&",
	} {
		f.Add(seed)
	}
	app := fiber.New()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, query string) {
		c := fuzzContext(t, app)
		c.Request().Header.SetMethod(http.MethodGet)
		c.Request().SetRequestURI("/api/x?" + query)
		args := c.Context().QueryArgs()
		for name, parse := range map[string]func() (any, error){
			"predictions":  func() (any, error) { return parsePredictions(c) },
			"leaderboard":  func() (any, error) { return parseLeaderboard(c) },
			"models":       func() (any, error) { return parseModels(c) },
			"agents":       func() (any, error) { return parseAgents(c) },
			"compare":      func() (any, error) { return parseCompare(c) },
			"changes":      func() (any, error) { return parseChanges(c) },
			"events":       func() (any, error) { return parseEvents(c) },
			"event":        func() (any, error) { return market.ParsePlace(string(args.Peek("cursor"))) },
			"prices":       func() (any, error) { return parsePrices("m", args, now) },
			"markets":      func() (any, error) { return parseMarketFilter(args) },
			"assignments":  func() (any, error) { return parseAssignments(args) },
			"old markets":  func() (any, error) { return parseStoredMarkets(c) },
			"old news":     func() (any, error) { return parseStoredNews(c) },
			"update types": func() (any, error) { return parseTypes(args) },
			"limit":        func() (any, error) { return ParseLimit(args) },
		} {
			_, err := parse()
			if _, again := parse(); (err == nil) != (again == nil) {
				t.Errorf("%s reads %q as %v, then as %v", name, query, err, again)
			}
			refusedWell(t, err)
		}
		q, err := parsePrices("m", args, now)
		span := q.filter(now)
		if err == nil && (!span.From.Before(span.To) || span.To.Sub(span.From) > maxPriceSpan || span.Every < 0 || span.Every > maxPriceSpan) {
			t.Errorf("prices of %q from %s to %s every %s", query, span.From, span.To, span.Every)
		}
		number, err := parseSince(args)
		if refusedWell(t, err); number != nil && *number < 0 {
			t.Errorf("since of %q is %d", query, *number)
		}
	})
}
