package identitytest

import (
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/goproxy"
)

// Zitadel is the example server of github.com/zitadel/oidc, a provider from another project. It has the
// clients "web" and "api" (secret "secret") and one person, "test-user". It keeps its tokens in memory and
// forgets them when it stops.
type Zitadel struct {
	t         *testing.T
	binary    string
	port      string
	redirects []string
	cmd       *exec.Cmd
}

// ZitadelScope is the scope that the server grants in addition to those of OpenID Connect. It silently
// drops all other scopes.
const ZitadelScope = "custom_scope"

const (
	zitadelModule  = "github.com/zitadel/oidc/v3@v3.34.0"
	zitadelPackage = "github.com/zitadel/oidc/v3/example/server"
)

// NewZitadel builds and starts the server. redirects are the addresses that it sends people back to. The
// test is skipped if the module proxy can't be reached.
func NewZitadel(t *testing.T, redirects ...string) *Zitadel {
	t.Helper()
	free, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	z := &Zitadel{t: t, binary: buildZitadel(t), port: port, redirects: redirects}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(z.Stop)
	z.Start()
	return z
}

// buildZitadel builds the server in a separate module, so that its dependencies don't get into ours.
func buildZitadel(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "provider")
	for _, args := range [][]string{
		{"mod", "init", "provider"},
		{"get", zitadelPackage + strings.TrimPrefix(zitadelModule, "github.com/zitadel/oidc/v3")},
		{"build", "-ldflags=-s", "-o", binary, zitadelPackage},
	} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			if args[0] == "get" && goproxy.Unreachable(out) {
				t.Skipf("NOT TESTED against a real identity provider: the module proxy cannot be reached for %s: %s", zitadelModule, out)
			}
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	return binary
}

// URL returns the server's base address.
func (z *Zitadel) URL() string { return "http://localhost:" + z.port }

// Start runs the server and returns once it answers.
func (z *Zitadel) Start() {
	z.t.Helper()
	z.cmd = exec.Command(z.binary)
	z.cmd.Env = append(os.Environ(), "PORT="+z.port, "REDIRECT_URI="+strings.Join(z.redirects, ","))
	if err := z.cmd.Start(); err != nil {
		z.t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		resp, err := http.Get(z.URL() + "/.well-known/openid-configuration")
		if err == nil {
			resp.Body.Close()
			return
		}
		<-tick.C
	}
	z.t.Fatal("the identity provider did not start")
}

// Stop ends the server.
func (z *Zitadel) Stop() {
	if z.cmd != nil {
		_ = z.cmd.Process.Kill() // it may have ended already
		_ = z.cmd.Wait()         // returns an error, because the process was killed
		z.cmd = nil
	}
}

// Login opens the address of an authorization request, fills in the form like a person, and returns the
// address that leads back.
func (z *Zitadel) Login(address string) *url.URL {
	z.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		z.t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(req *http.Request, _ []*http.Request) error {
		if !strings.HasPrefix(req.URL.String(), z.URL()) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	resp, err := browser.Get(address)
	if err != nil {
		z.t.Fatal(err)
	}
	page, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	id := regexp.MustCompile(`name="id" value="([^"]+)"`).FindSubmatch(page)
	if err != nil || id == nil {
		z.t.Fatalf("no login form in %s: %v", page, err)
	}
	resp, err = browser.PostForm(z.URL()+"/login/username", url.Values{
		"id": {string(id[1])}, "username": {"test-user@localhost"}, "password": {"verysecure"},
	})
	if err != nil {
		z.t.Fatal(err)
	}
	resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		z.t.Fatalf("no redirect after the login: %d, %v", resp.StatusCode, err)
	}
	return back
}
