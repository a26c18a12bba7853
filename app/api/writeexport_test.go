package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

// titles is an export of titles alone.
type titles []string

func (*titles) begin(agentWire, []keyWire) error { return nil }
func (*titles) end(*string) error                { return nil }
func (l *titles) prediction(p predictionWire) error {
	*l = append(*l, *p.Title)
	return nil
}

// atOnce is a lane whose places are free.
func atOnce(context.Context) (leave func(), err error) { return func() {}, nil }

// TestExportsMeet checks that a prediction published after an export has begun doesn't push another one out
// between this export and the next.
func TestExportsMeet(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
		author := &agent.Agent{}
		err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) (err error) {
			author, err = agent.Store{}.Create(ctx, tx, agent.New{Profile: agent.Profile{Name: "Ada"}, At: at})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		publish := func(title string) {
			at = at.Add(time.Second)
			err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
				return prediction.Store{}.Insert(ctx, tx, &prediction.Prediction{
					ID: database.NewID(at), AgentID: author.ID, Title: title, Thesis: "t", HorizonAt: at, Category: "general",
					Evidence: []prediction.Evidence{}, BaselineState: prediction.Unlinked, Status: prediction.Open, CreatedAt: at,
				})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range 5 {
			publish(fmt.Sprint(i))
		}
		a := &API{DB: db, Config: &config.Config{BaseURL: "http://pulse.test"}, Now: func() time.Time { return at }, exports: newExports()}
		filter := prediction.Filter{AgentID: author.ID, Limit: 2}
		last, next, err := a.store.CursorPast(t.Context(), db.Reader, author.ID, "", 3)
		if err != nil {
			t.Fatal(err)
		}
		publish("5")
		var written titles
		if err := a.writeExport(t.Context(), &written, a.store, filter, last, agentWire{}, nil, &next, atOnce); err != nil {
			t.Fatal(err)
		}
		filter.Cursor = next
		if err := a.writeExport(t.Context(), &written, a.store, filter, uuid.Nil, agentWire{}, nil, nil, atOnce); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(written) != "[5 4 3 2 1 0]" {
			t.Errorf("%v", written)
		}
	})
}

// TestExportsAtOnce checks that an agent has one export at a time, that a node has a bounded number, and
// that two of them read a page at a time.
func TestExportsAtOnce(t *testing.T) {
	t.Parallel()
	e := newExports()
	agents := make([]uuid.UUID, exportsAtOnce+1)
	for i := range agents {
		agents[i] = uuid.New()
		if err := e.begin(agents[i], func() {}); (err == nil) != (i < exportsAtOnce) {
			t.Errorf("export %d: %v", i, err)
		}
	}
	if err := e.begin(agents[0], func() {}); err == nil || problem.As(err).Status != http.StatusServiceUnavailable || !problem.As(err).Shed {
		t.Errorf("a second export of an agent: %+v, want a 503 that raises no alert", err)
	}
	e.end(agents[0])
	if e.begin(agents[0], func() {}) != nil || e.begin(agents[exportsAtOnce], func() {}) == nil {
		t.Error("the end of one export must make room for exactly one")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var within func(depth int) error
	within = func(depth int) error {
		if depth == exportReads {
			return e.read(ctx, atOnce, func() error { t.Error("one more export than exportReads reads a page"); return nil })
		}
		return e.read(t.Context(), atOnce, func() error { return within(depth + 1) })
	}
	if err := within(0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestFullDownloadsAreShed checks that a caller who takes all places for downloads raises no alert.
func TestFullDownloadsAreShed(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]int{httpserver.ErrShare: http.StatusTooManyRequests, httpserver.ErrFull: http.StatusServiceUnavailable} {
		if p := problem.As(noDownload(cause)); p.Status != want || p.Shed != (want == http.StatusServiceUnavailable) {
			t.Errorf("%v: %+v, want %d", cause, p, want)
		}
	}
}

// TestExportCutShort checks that the reader of an export that fails gets an error instead of an incomplete file.
func TestExportCutShort(t *testing.T) {
	t.Parallel()
	rows := strings.Repeat("1,Rain\n", 10_000) // more than the buffers hold
	for name, failure := range map[string]error{"whole": nil, "cut short": errors.New("the database is gone")} {
		a := &API{Log: slog.New(slog.DiscardHandler), exports: newExports()}
		app := fiber.New(fiber.Config{DisableStartupMessage: true})
		app.Get("/", func(c *fiber.Ctx) error {
			a.stream(c, uuid.Nil, func(_ context.Context, w io.Writer) error {
				_, err := io.WriteString(w, rows)
				return errors.Join(err, failure)
			})
			return nil
		})
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go app.Listener(ln)
		t.Cleanup(func() { app.Shutdown() })
		res, err := http.Get("http://" + ln.Addr().String())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if failure == nil && (err != nil || string(body) != rows) || failure != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: read %d bytes, %v", name, len(body), err)
		}
	}
}

// TestExportAfterExport checks that an agent may export again as soon as it has read the end of an export.
func TestExportAfterExport(t *testing.T) {
	t.Parallel()
	a, router, agentID := &API{exports: newExports()}, fiber.New(), uuid.New()
	for range 20_000 {
		if a.exports.begin(agentID, func() {}) != nil {
			t.Fatal("the export before is over, but the next one is refused")
		}
		c := router.AcquireCtx(&fasthttp.RequestCtx{})
		a.stream(c, agentID, func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, "end")
			return err
		})
		if content, err := io.ReadAll(c.Context().Response.BodyStream()); string(content) != "end" || err != nil {
			t.Fatalf("read %q: %v", content, err)
		}
		router.ReleaseCtx(c)
	}
}
