// Package doctor checks the dependencies of an installation and says how to fix each problem. It
// checks from outside, so a server may be running.
package doctor

import (
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
	"time"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/cache"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/identity"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/tracing"
)

// checkTimeout bounds one check of something outside this process.
const checkTimeout = 8 * time.Second

// verdict is the result of a check.
type verdict string

const (
	fine verdict = "ok"
	warn verdict = "warn" // works, but not as well as it could
	fail verdict = "fail" // does not work
)

// doctor checks one installation.
type doctor struct {
	cfg    config.Config
	out    io.Writer
	clock  clock
	failed int
}

// Run checks the dependencies and prints a line for each: ok, warn or fail, what was found and what
// to do. It prints no secret. It returns an error if a check fails. It settles, repairs and stores
// nothing.
func Run(ctx context.Context, cfg config.Config, out io.Writer) error {
	d := &doctor{cfg: cfg, out: out}
	err := d.cfg.Check()
	if err == nil {
		err = d.cfg.CheckServed()
	}
	if err != nil {
		d.say(fail, "configuration", "%v", err)
		return errors.New("the configuration is invalid, so nothing else was checked")
	}
	d.configuration()
	d.database(ctx)
	d.archive(ctx)
	d.cache(ctx)
	d.sources(ctx)
	d.identity(ctx)
	d.webhook(ctx)
	d.tracing()
	d.time()
	if d.failed > 0 {
		return fmt.Errorf("%d of the checks failed", d.failed)
	}
	return nil
}

func (d *doctor) say(v verdict, what, format string, args ...any) {
	if v == fail {
		d.failed++
	}
	text := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ") // one line
	fmt.Fprintf(d.out, "%-4s  %-14s %s\n", v, what, text)
}

func (d *doctor) configuration() {
	public := !d.cfg.Loopback()
	base, _ := url.Parse(d.cfg.BaseURL) // Check has validated it
	switch host := base.Hostname(); {
	case public && (host == "localhost" || net.ParseIP(host).IsLoopback()):
		d.say(warn, "configuration", "ADDR can be reached from outside, but links begin with %s: set BASE_URL to the public address", d.cfg.BaseURL)
	case public && base.Scheme == "http":
		d.say(warn, "configuration", "BASE_URL is not https, so keys are sent unencrypted: put a proxy with TLS in front and set BASE_URL=https://…")
	default:
		d.say(fine, "configuration", "listens on %s, links begin with %s", d.cfg.Addr, d.cfg.BaseURL)
	}
	if host, _, err := net.SplitHostPort(d.cfg.MetricsAddr); err == nil && (host == "" || net.ParseIP(host).IsUnspecified()) {
		d.say(warn, "configuration", "METRICS_ADDR listens on every address and needs no key: bind it to a private address")
	}
}

func (d *doctor) cache(ctx context.Context) {
	if d.cfg.RedisURL == "" {
		if _, ok := d.cfg.SQLitePath(); ok {
			d.say(fine, "cache", "in this process")
		} else {
			d.say(warn, "cache", "in this process: with several nodes set REDIS_URL, else each node counts rate limits separately")
		}
		return
	}
	c, err := cache.Open(d.cfg.RedisURL, "")
	if err == nil {
		defer c.Close()
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		err = c.Ping(ctx)
	}
	if err != nil {
		d.say(fail, "cache", "%v: check REDIS_URL and that Redis runs. Until then each node counts limits separately", err)
		return
	}
	d.say(fine, "cache", "Redis answers")
}

// identity asks the provider about a key that can't exist, in the same way as a request.
func (d *doctor) identity(ctx context.Context) {
	if d.cfg.IdentityURL == "" {
		d.say(fine, "identity", "local registry, registration is %s", d.cfg.Registration)
		return
	}
	folder, err := os.MkdirTemp("", "pulsecast-doctor") // for a scratch database, which the identity check needs
	if err != nil {
		d.say(fail, "identity", "not checked: %v", err)
		return
	}
	defer os.RemoveAll(folder)
	scratch, err := database.Open(ctx, "sqlite://"+filepath.Join(folder, "scratch.db"))
	if err != nil {
		d.say(fail, "identity", "not checked: %v", err)
		return
	}
	defer scratch.Close()
	silent := slog.New(slog.DiscardHandler)
	service := identity.New(identity.Options{
		Config: &d.cfg, DB: scratch, Generation: agent.NewGeneration(scratch.Reader, silent),
		Usage: agent.NewUsage(scratch, silent, time.Now), Log: silent, Now: time.Now,
	})
	_, err = service.Authenticate(ctx, "doctor-"+database.NewID(time.Now()).String(), nil)
	refusal, refused := errors.AsType[*problem.Error](err)
	word := identity.Fault(err)
	switch {
	case err == nil:
		d.say(fail, "identity", "the provider accepts a made-up key, so anyone has access: check which server answers at IDENTITY_URL")
	case refused && refusal.Status < 500:
		d.say(fine, "identity", "the provider at %s answers, and refuses a made-up key", d.cfg.IdentityURL)
	case word == "":
		d.say(fail, "identity", "not checked: %v", err)
	default:
		d.say(fail, "identity", "the provider's check failed (%s): %s", word, identityAdvice(word))
	}
	for _, w := range service.Status().Warnings {
		d.say(warn, "identity", "%s", w)
	}
	d.signIn(ctx, service.People())
}

// signIn checks the provider's support for the sign-in of admins. people is nil without
// ADMIN_SCOPE.
func (d *doctor) signIn(ctx context.Context, people *identity.People) {
	if people == nil {
		d.say(fine, "admins", "admins sign in with a password; set ADMIN_SCOPE to let them also sign in at the provider")
		return
	}
	warnings, err := people.Ready(ctx)
	if err != nil {
		d.say(fail, "admins", "admins can't sign in at %s, only with a password: %v", people.Host(), err)
		return
	}
	d.say(fine, "admins", "admins can sign in at %s if it grants them %s; register the redirect address %s there", people.Host(), d.cfg.AdminScope, d.cfg.BaseURL+identity.CallbackPath)
	for _, w := range warnings {
		d.say(warn, "admins", "%s", w)
	}
}

func identityAdvice(word string) string {
	switch word {
	case "http_401", "http_403":
		return "check IDENTITY_CLIENT_ID and IDENTITY_CLIENT_SECRET, and that this client may introspect"
	case "http_400":
		return "check IDENTITY_CLIENT_ID and IDENTITY_CLIENT_SECRET, and that this client may introspect. If the keys of agents work, the provider only can't read this made-up key"
	case "discovery", "parse", "http_404":
		return "IDENTITY_URL must be the issuer exactly as its /.well-known/openid-configuration names it"
	case "timeout", "unreachable":
		return "check IDENTITY_URL, the network, and that the provider runs. Until then every key gets 503"
	}
	return "check IDENTITY_URL and the provider's own log"
}

// tracing only reads the OTEL_* variables, because most services have no collector.
func (d *doctor) tracing() {
	on, err := tracing.Wanted()
	switch {
	case err != nil:
		d.say(fail, "tracing", "%v; the service does not start with this setting", err)
	case on:
		d.say(fine, "tracing", "spans go to the collector of OTEL_EXPORTER_OTLP_ENDPOINT, or of localhost:4318; a span that does not arrive is dropped")
	}
}

// webhook only connects, because a message could wake someone.
func (d *doctor) webhook(ctx context.Context) {
	if d.cfg.AlertWebhookURL == "" {
		d.say(warn, "alerts", "no message is sent if something goes wrong: set ALERT_WEBHOOK_URL")
		return
	}
	u, _ := url.Parse(string(d.cfg.AlertWebhookURL)) // Check has validated it
	port := u.Port()
	if port == "" {
		port = u.Scheme // "https" is also the name of a port
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		d.say(fail, "alerts", "the host of ALERT_WEBHOOK_URL can't be reached: %v", err)
		return
	}
	conn.Close()
	d.say(fine, "alerts", "the host of ALERT_WEBHOOK_URL can be reached; no message was sent")
}
