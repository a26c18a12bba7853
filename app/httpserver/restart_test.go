package httpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
)

// restarts is how many nodes the test restarts. nginx skips a node that refused a connection for ten
// seconds (fail_timeout), so the test restarts a different node each time, and one more node is never
// restarted.
const restarts = 10

// startNginx runs Debian's nginx with its default settings in front of the nodes. It returns an HTTP client
// of that nginx.
func startNginx(t *testing.T, nodes []string) *http.Client {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		path = "/usr/sbin/nginx"
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("nginx is not installed: run NEED_NGINX=1 .ci/services or make test, which install it")
	}
	dir := t.TempDir()
	conf := fmt.Sprintf(`daemon off;
pid %[1]s/pid;
error_log %[1]s/error.log;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	upstream nodes { %[2]s }
	server {
		listen unix:%[1]s/socket;
		location / { proxy_pass http://nodes; }
	}
}
`, dir, "server "+strings.Join(nodes, "; server ")+";")
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-c", file, "-p", dir)
	out := &strings.Builder{}
	cmd.Stderr = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	socket := filepath.Join(dir, "socket")
	for deadline := time.Now().Add(20 * time.Second); ; {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("nginx didn't start: %v\n%s", err, out)
		}
	}
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
}

// traffic posts and reads through a proxy until its context ends.
type traffic struct {
	client *http.Client
	sent   atomic.Int64

	mu   sync.Mutex
	lost []string
}

func (tr *traffic) run(ctx context.Context) {
	for ctx.Err() == nil {
		n := tr.sent.Add(1)
		method, want := "POST", fmt.Sprint(n)
		if n%3 == 0 {
			method = "GET"
		}
		req, err := http.NewRequest(method, "http://pulse.test/api/"+want, nil)
		if err != nil {
			panic(err)
		}
		if err := tr.send(req, want); err != nil {
			tr.mu.Lock()
			tr.lost = append(tr.lost, fmt.Sprintf("%s %d: %v", method, n, err))
			tr.mu.Unlock()
		}
	}
}

func (tr *traffic) send(req *http.Request, want string) error {
	resp, err := tr.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != 200 || string(body) != want) {
		err = errors.New(resp.Status)
	}
	return err
}

// TestRollingRestartsLoseNothing checks that no request is lost when several clients send requests through
// nginx to eleven nodes while ten of the nodes restart, one after the other.
func TestRollingRestartsLoseNothing(t *testing.T) {
	t.Parallel()
	const drain = 50 * time.Millisecond
	var handled atomic.Int64
	routes := func(s *Server) {
		answer := func(c *fiber.Ctx) error {
			if c.Method() == "POST" {
				handled.Add(1)
			}
			return c.SendString(c.Params("n"))
		}
		s.App.Get("/api/:n", answer)
		s.App.Post("/api/:n", answer)
	}
	var nodes []*starting
	var addresses []string
	for i := range restarts + 1 {
		// While the node restarts, no outgoing connection can take the port of such an address.
		l := launch(t, fmt.Sprintf("127.11.0.%d:0", i+1), drain, routes)
		nodes, addresses = append(nodes, l), append(addresses, l.addr)
	}
	tr := &traffic{client: startNginx(t, addresses)}
	ctx, end := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() { tr.run(ctx) })
	}
	for i, l := range nodes[:restarts] {
		l.stop(nil)
		if err := <-l.stopped; err != nil {
			t.Errorf("restart %d: %v", i, err)
		}
		sent := tr.sent.Load()
		for deadline := time.Now().Add(time.Minute); tr.sent.Load() < sent+restarts*4; time.Sleep(time.Millisecond) { // nginx notices
			if time.Now().After(deadline) {
				t.Fatal("nginx doesn't pass on the requests to the other nodes")
			}
		}
		nodes[i] = launch(t, l.addr, drain, routes)
	}
	end()
	clients.Wait()
	for _, l := range nodes {
		l.stop(ErrInterrupted)
		<-l.stopped
	}
	if len(tr.lost) > 0 {
		t.Errorf("%d of %d requests were lost, the first: %s", len(tr.lost), tr.sent.Load(), tr.lost[0])
	}
	if posts := tr.sent.Load() - tr.sent.Load()/3; handled.Load() != posts {
		t.Errorf("%d posts were handled, %d sent", handled.Load(), posts)
	}
	t.Logf("%d requests", tr.sent.Load())
}
