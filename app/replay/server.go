package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/api"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/compat/metaculus"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/version"
)

// root is the common prefix of all paths.
const root = "/r"

// prefix returns the prefix of all paths in a world.
func prefix(run, moment string) string { return root + "/" + run + "/at/" + moment }

// Options configure a Server. Log and Done may be nil. Token may be empty. The rest is required.
type Options struct {
	// Settings are the settings of the service. Those that a world can't use are ignored.
	Settings config.Config
	Archive  archive.Storage
	// Dir contains the runs and their worlds.
	Dir string
	// Token, if set, is required to make a run. The maker of a run is its operator and sees how the
	// markets ended. Without a token, any agent that reaches the server can be operator.
	Token string
	Log   io.Writer
	Done  func() error // called by Close; may be nil
}

// Server serves the runs through an archive.
type Server struct {
	tape   *Tape
	runs   *Runs
	worlds *worlds
	build  *builder
	http   *httpserver.Server
	base   string // address of the server
	token  string
	done   func() error
	log    *slog.Logger

	reports sync.Mutex // held while a report or plan is made
}

// acquireTimeout is how long a request waits for its world.
const acquireTimeout = 60 * time.Second

// New returns a server that isn't running yet.
func New(ctx context.Context, o Options) (*Server, error) {
	settings := worldSettings(o.Settings)
	template := filepath.Join(o.Dir, "template.db")
	settings.DatabaseURL = "sqlite://" + template
	if err := settings.Check(); err != nil {
		return nil, err
	}
	if err := settings.CheckServed(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the runs: %w", err)
	}
	if err := newTemplate(ctx, template); err != nil {
		return nil, err
	}
	runs, err := OpenRuns(filepath.Join(o.Dir, "runs"))
	if err != nil {
		return nil, err
	}
	s := &Server{tape: NewTape(o.Archive), runs: runs, base: settings.BaseURL, token: o.Token, done: o.Done, log: settings.Logger(o.Log)}
	s.build = &builder{tape: s.tape, runs: runs, template: template, settings: settings, log: o.Log}
	s.worlds = newWorlds(s.build.open, s.log)
	s.http = httpserver.New(httpserver.Options{Config: &settings, Version: version.API, Logger: s.log})
	s.http.AllowBody(api.BatchPath, api.MaxBatchBody)
	s.http.AllowBody(metaculus.CommentsPath, metaculus.MaxComment)
	allowPlan := s.http.AllowBody // a plan may be large
	if s.token == "" {
		allowPlan = s.http.AllowAnonymousBody
	}
	allowPlan(root, api.MaxBatchBody)
	s.http.Mount(s)
	s.register(s.http.App)
	return s, nil
}

func (s *Server) register(app *fiber.App) {
	app.Get(root, s.index)
	app.Post(root, s.makeRun)
	app.Post(root+"/plan", s.plan)
	app.Post(root+"/:run/keys", s.makeKey)
	app.Get(root+"/:run/report", s.report)
	app.All(root+"/:run/at/:at", refused)
	app.All(root+"/:run/at/:at/*", refused)
	app.Get("/static/*", file)
}

// Run serves on ln until ctx ends, and then closes the server.
func (s *Server) Run(ctx context.Context, ln net.Listener) error {
	s.log.Info("serving replays", "address", ln.Addr().String(), "base_url", s.base)
	return errors.Join(s.http.Start(ctx, ln), s.Close())
}

// Close closes the worlds. Run calls it before it returns.
func (s *Server) Close() error {
	err := s.worlds.closeAll()
	if s.done != nil {
		err = errors.Join(err, s.done())
	}
	return err
}

// Base returns the address of the server.
func (s *Server) Base() string { return s.base }

// route is an address within a world.
type route struct{ run, at, rest string }

// split parses the path of a request to a world. It reports false for any other path.
func split(path []byte) (r route, ok bool) {
	rest, ok := bytes.CutPrefix(path, []byte(root+"/"))
	if !ok {
		return r, false
	}
	parts := bytes.SplitN(rest, []byte("/"), 4)
	if len(parts) < 3 || string(parts[1]) != "at" {
		return r, false
	}
	r = route{run: string(parts[0]), at: string(parts[2]), rest: "/"}
	if at, err := url.PathUnescape(r.at); err == nil {
		r.at = at
	}
	if len(parts) == 4 {
		r.rest += string(parts[3])
	}
	return r, true
}

// Rest implements httpserver.Mounted.
func (s *Server) Rest(path []byte) []byte {
	if r, ok := split(path); ok {
		return []byte(r.rest)
	}
	return path
}

// refusalKey holds the error of a request without a world.
type refusalKey struct{}

// refused answers a request without a world.
func refused(c *fiber.Ctx) error {
	if err, ok := c.Context().UserValue(refusalKey{}).(error); ok {
		return err
	}
	return problem.NotFound("There is nothing at this address. The address of a world is " + prefix("{run}", "{T}") + "/….")
}

// Answer implements httpserver.Mounted. It passes a request to its world.
func (s *Server) Answer(fctx *fasthttp.RequestCtx) bool {
	path, query, hasQuery := bytes.Cut(fctx.Request.Header.RequestURI(), []byte("?"))
	r, ok := split(path)
	if !ok {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), acquireTimeout)
	defer cancel()
	w, release, err := s.find(ctx, fctx, r)
	if err != nil {
		fctx.SetUserValue(refusalKey{}, err)
		return false
	}
	defer release()
	uri := r.rest
	if hasQuery {
		uri += "?" + string(query)
	}
	fctx.Request.SetRequestURI(uri)
	w.answer(fctx, r.rest)
	return true
}

// find returns the world of a request, after checking that the request may use it.
func (s *Server) find(ctx context.Context, fctx *fasthttp.RequestCtx, r route) (*world, func(), error) {
	run, err := s.runs.Find(r.run)
	if err != nil {
		return nil, nil, err
	}
	at, err := readMoment(r.at)
	if err != nil {
		return nil, nil, err
	}
	if err := s.checkMoment(ctx, run, at); err != nil {
		return nil, nil, err
	}
	if err := s.admit(fctx, run, at); err != nil {
		return nil, nil, err
	}
	w, release, err := s.worlds.acquire(ctx, run, at)
	if errors.Is(err, context.DeadlineExceeded) {
		err = problem.Unavailable("The world of this moment isn't ready yet. Send the same request again.", time.Second).With(err)
	}
	return w, release, err
}

// checkMoment refuses a moment outside the run or the archive.
func (s *Server) checkMoment(ctx context.Context, run *Run, at time.Time) error {
	if at.Before(run.From) || at.After(run.To) {
		return problem.InvalidParameter("T", fmt.Sprintf("must be from %s to %s, the span of this run", writeMoment(run.From), writeMoment(run.To)))
	}
	from, to, err := s.tape.Span(ctx)
	if err != nil {
		return err
	}
	if at.Before(from) || !at.Before(to) {
		return problem.InvalidParameter("T", fmt.Sprintf("must be from %s to before %s, the span of the archive", writeMoment(from), writeMoment(to)))
	}
	return nil
}

// admit checks the credentials of a request. With the operator token, a request may read what the
// public may.
func (s *Server) admit(fctx *fasthttp.RequestCtx, run *Run, at time.Time) error {
	h := &fctx.Request.Header
	bearer := credential(string(h.Peek(fiber.HeaderAuthorization)))
	switch {
	case bearer != "" && run.operates(bearer):
		h.Del(fiber.HeaderAuthorization)
		return nil
	case string(h.Method()) == fiber.MethodOptions:
		return nil
	}
	return run.admit(bearer, at)
}

// credential returns the part of an Authorization header after its scheme.
func credential(header string) string {
	scheme, value, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "Token") {
		return ""
	}
	return strings.TrimSpace(value)
}

// linklessPaths are the paths of a world whose answers contain no links that start with a slash.
var linklessPaths = []string{"/api", "/mcp", "/compat", "/oauth", "/.well-known", "/static", "/clients", "/livez", "/readyz"}

// answer serves a request in its world. The next request sees its changes.
func (w *world) answer(fctx *fasthttp.RequestCtx, path string) {
	page := true
	for _, m := range linklessPaths {
		page = page && path != m && !strings.HasPrefix(path, m+"/")
	}
	if page {
		fctx.Request.Header.Del(fiber.HeaderAcceptEncoding)
	}
	w.handle(fctx)
	if page {
		w.relink(&fctx.Response)
	}
	if m := string(fctx.Method()); m != fiber.MethodGet && m != fiber.MethodHead && m != fiber.MethodOptions {
		if fctx.Response.StatusCode() < fiber.StatusBadRequest && !strings.HasPrefix(path, "/mcp") {
			w.kept.Store(true)
		}
		ctx, cancel := context.WithTimeout(context.Background(), acquireTimeout)
		defer cancel()
		if err := w.app.Recheck(ctx); err != nil {
			w.app.Log.Warn("rechecking a world failed", "error", err)
		}
	}
}

// linked are the HTML attributes that contain addresses.
var linked = []string{` href="`, ` src="`, ` action="`}

// relink changes the links of a page so that they stay within the world.
func (w *world) relink(r *fasthttp.Response) {
	at := prefix(w.run.ID, writeMoment(w.at))
	if to := r.Header.Peek(fiber.HeaderLocation); bytes.HasPrefix(to, []byte("/")) {
		r.Header.Set(fiber.HeaderLocation, at+string(to))
	}
	if !bytes.HasPrefix(r.Header.ContentType(), []byte(fiber.MIMETextHTML)) || len(r.Header.ContentEncoding()) > 0 {
		return
	}
	body := bytes.Clone(r.Body())
	for _, attribute := range linked {
		body = bytes.ReplaceAll(body, []byte(attribute+"/"), []byte(attribute+at+"/"))
	}
	r.SetBody(body)
}
