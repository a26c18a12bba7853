package replay

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/problem"
)

// FuzzBodies checks that the body of a run or a plan is either refused with a problem, or declares a
// run whose pairs are within the run.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a","model":"m","filter":{"category":"crypto","ids":["1"]},"from":"2026-11-20T00:00:00Z","pairs":[{"market":"1","at":"2026-11-20T12:00:00Z"}]}`,
		`{"n":10,"seed":18446744073709551615,"filter":{"q":"x"},"to":"2026-11-21T00:00:00+14:00"}`, `{"n":1.5}`, `{"pairs":[{"market":"","at":"0001-01-01T00:00:00Z"}]}`,
		`{"from":"9999-12-31T23:59:59Z"}`, `{} {}`, `[]`, `{"x":1}`, "\xff", `{"from":"2026"}`,
	} {
		f.Add([]byte(seed))
	}
	first := time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 0, 3)
	app := fiber.New()
	f.Fuzz(func(t *testing.T, sent []byte) {
		c := app.AcquireCtx(&fasthttp.RequestCtx{})
		defer app.ReleaseCtx(c)
		c.Request().SetBody(sent)
		refused := func(err error) bool {
			if p := problem.As(err); err != nil && (p.Status < 400 || p.Status >= 500 || p.Detail == "") {
				t.Errorf("%q: %v", sent, err)
			}
			return err != nil
		}
		var o PlanOptions
		refused(readBody(c, &o))
		var body newRun
		if refused(readBody(c, &body)) {
			return
		}
		run := Run{Name: body.Name, Model: body.Model, Filter: body.Filter, From: first, To: last, OpenWeb: WebUnknown, Pairs: body.Pairs}
		if wrong := run.check(first, last); len(wrong) > 0 {
			refused(problem.InvalidRequest(wrong...))
			return
		}
		for _, p := range run.Pairs {
			if p.Market == "" || p.At.Before(first) || p.At.After(last) {
				t.Errorf("%q: %+v", sent, p)
			}
		}
	})
}

// FuzzMoment checks that a moment is either refused, or is the same after it is written and read.
func FuzzMoment(f *testing.F) {
	for _, seed := range []string{"2026-11-21T12:00:00Z", "2026-11-21T12:00:00.000001Z", "2026-11-21T12:00:00.0000001Z", "2026-11-21T12:00:00+00:00", "0000-01-01T00:00:00Z", "", "T"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := readMoment(text)
		if err != nil {
			if p := problem.As(err); p.Status != 400 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if again, err := readMoment(writeMoment(at)); err != nil || !again.Equal(at) {
			t.Errorf("%q: %s, then %s: %v", text, at, again, err)
		}
	})
}

// FuzzRoute checks that the parts of a path to a world are parts of that path.
func FuzzRoute(f *testing.F) {
	for _, seed := range []string{"/r/run/at/2026-11-21T12:00:00Z/api/health", "/r/run/at/2026-11-21T12%3A00:00Z", "/r/run/at/%zz/", "/r/plan", "/r/", "/", "", "/r//x/", "/r/a/b/c%2f"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, path []byte) {
		r, ok := split(path)
		if ok && (strings.Contains(r.run, "/") || !strings.HasPrefix(r.rest, "/") || !strings.HasPrefix(string(path), root+"/"+r.run+"/at/") ||
			!strings.HasSuffix(string(path)+"/", r.rest) && !strings.HasSuffix(string(path), r.rest)) {
			t.Errorf("%q is read as %+v", path, r)
		}
	})
}

// FuzzState checks that the stored state of a backtest is refused or can be continued and stored again.
func FuzzState(f *testing.F) {
	for _, seed := range []string{
		`{"run":"r","operatorToken":"t","reportUrl":"r/report","pairs":[{"market":"1","at":"2026-11-20T12:00:00Z"}],"finished":[false],"cost":0.5}`,
		`{"run":"r","finished":[true]}`, `{"run":"../r"}`, `{"run":"r","cost":-1}`, `null`, `[]`, ``, "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		b := &Backtest{Dir: t.TempDir()}
		if err := os.MkdirAll(b.folder("r"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(b.stateFile("r"), stored, 0o600); err != nil {
			t.Fatal(err)
		}
		if b.Resume("r") != nil {
			return
		}
		state := b.State()
		if state.Run != "r" || state.Left() > len(state.Pairs) {
			t.Errorf("%q: run %q with %d of %d pairs left", stored, state.Run, state.Left(), len(state.Pairs))
		}
		if err := b.save(); err != nil {
			t.Error(err)
		}
		again := &Backtest{Dir: b.Dir}
		if err := again.Resume("r"); err != nil {
			t.Fatalf("%q: stored again: %v", stored, err)
		}
		if continued := again.State(); continued.Left() != state.Left() {
			t.Errorf("%q: stored again, %d pairs are left, want %d", stored, continued.Left(), state.Left())
		}
	})
}
