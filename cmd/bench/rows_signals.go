package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// recordedAnswer is one of our answers, which the references repeat.
type recordedAnswer struct {
	Header [][2]string
	ETag   string
	Plain  []byte
	Gzip   []byte
}

// signals compares the signal list with nginx and a bare fasthttp server that send the same bytes.
func (b *bench) signals(ctx context.Context) ([]row, error) {
	n, _, err := b.onPostgres(ctx, "signals")
	if err != nil {
		return nil, err
	}
	defer n.Stop()
	recorded, err := n.recordSignals(ctx)
	if err != nil {
		return nil, err
	}
	nginx, err := b.startNginx(ctx, recorded)
	if err != nil {
		return nil, err
	}
	defer nginx.Stop()
	bare, err := b.startBare(ctx, recorded)
	if err != nil {
		return nil, err
	}
	defer bare.Stop()
	ways := []string{"plain", "gzip", "304"}
	var contenders []contender
	for _, server := range []struct{ name, address, path string }{
		{"pulsecast", n.Address, n.signals().path}, {"nginx", nginx.Address, "/signals"}, {"fasthttp", bare.Address, "/"},
	} {
		for _, way := range ways {
			w, err := signalsBy(ctx, want{address: server.address, path: server.path}, way, recorded)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", server.name, err)
			}
			contenders = append(contenders, n.get(server.name+" "+way, w))
		}
	}
	all, err := b.compare(ctx, contenders)
	if err != nil {
		return nil, err
	}
	var rates, latencies []row
	for _, way := range ways {
		for _, reference := range []struct {
			name  string
			least float64
		}{{"nginx", .85}, {"fasthttp", .95}} {
			other := reference.name + " " + way
			rates = append(rates, row{
				what: "signal list, " + way, ours: all.rates("pulsecast " + way), reference: named(reference.name, all.rates(other)),
				target: atLeast(reference.least), either: "rate " + way,
			})
			latencies = append(latencies, row{
				what: "signal list, " + way + ", p99", ours: all.latencies("pulsecast " + way), reference: named(reference.name, all.latencies(other)),
				target: atMost(1.5), either: "p99 " + way,
			})
		}
	}
	return append(rates, latencies...), nil
}

// recordSignals fetches the list plain and compressed.
func (n *node) recordSignals(ctx context.Context) (*recordedAnswer, error) {
	plain, err := n.signals().fetch(ctx)
	if err != nil {
		return nil, err
	}
	compressed := n.signals().compressed()
	packed, err := compressed.fetch(ctx)
	if err != nil {
		return nil, err
	}
	if packed.header.Get("Content-Encoding") != "gzip" {
		return nil, fmt.Errorf("GET %s: not compressed", compressed.path)
	}
	return &recordedAnswer{Header: ownHeader(plain.header), ETag: plain.header.Get("ETag"), Plain: plain.body, Gzip: packed.body}, nil
}

// ownHeader returns every header except those that servers set themselves.
func ownHeader(header http.Header) (own [][2]string) {
	for name, values := range header {
		switch name {
		case "Date", "Content-Length", "Content-Type", "Etag", "Connection", "Server":
		default:
			own = append(own, [2]string{name, values[0]})
		}
	}
	return own
}

// signalsBy returns a request for the list in one of three ways. The 304 uses the ETag that the
// server itself sends.
func signalsBy(ctx context.Context, w want, way string, recorded *recordedAnswer) (want, error) {
	switch way {
	case "gzip":
		w = w.compressed()
	case "304":
		first, err := w.fetch(ctx)
		if err != nil {
			return w, err
		}
		w.header, w.status = []string{"If-None-Match: " + first.header.Get("ETag")}, http.StatusNotModified
	}
	got, err := w.fetch(ctx)
	if err != nil {
		return w, err
	}
	if body := map[string][]byte{"plain": recorded.Plain, "gzip": recorded.Gzip}[way]; !bytes.Equal(got.body, body) {
		return w, fmt.Errorf("%s: the server sends other bytes: %d instead of %d", way, len(got.body), len(body))
	}
	return w, nil
}

const nginxConfig = `worker_processes %d;
%[5]s
pid %[2]s/nginx.pid;
error_log %[2]s/error.log;
daemon off;
events { worker_connections 1024; }
http {
	access_log off;
	sendfile on;
	tcp_nopush on;
	keepalive_requests 1000000000;
	open_file_cache max=16;
	open_file_cache_valid 1h;
	gzip_static on;
	client_body_temp_path %[2]s/body;
	proxy_temp_path %[2]s/proxy;
	fastcgi_temp_path %[2]s/fastcgi;
	uwsgi_temp_path %[2]s/uwsgi;
	scgi_temp_path %[2]s/scgi;
	server {
		listen %[3]s;
		root %[2]s;
		default_type application/json;
%[4]s	}
}
`

// startNginx serves the recorded answer from files, one of them already compressed. nginx makes its
// ETag from the files.
func (b *bench) startNginx(ctx context.Context, recorded *recordedAnswer) (*run.Process, error) {
	root, err := os.MkdirTemp(b.dir, "root")
	if err != nil {
		return nil, err
	}
	address, err := run.FreeAddress()
	if err != nil {
		return nil, err
	}
	var headers strings.Builder
	for _, h := range recorded.Header {
		fmt.Fprintf(&headers, "\t\tadd_header %s %q;\n", h[0], h[1])
	}
	// Workers started by root would run as another account, which can't read the folder.
	account := ""
	if os.Geteuid() == 0 {
		account = "user root;\n"
	}
	config := filepath.Join(root, "nginx.conf")
	for path, content := range map[string][]byte{
		filepath.Join(root, "signals"): recorded.Plain, filepath.Join(root, "signals.gz"): recorded.Gzip,
		config: fmt.Appendf(nil, nginxConfig, runtime.NumCPU(), root, address, headers.String(), account),
	} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return nil, err
		}
	}
	p, out, err := run.Start(ctx, b.dir, run.Command{Name: "nginx", Program: b.tools.nginx, Args: []string{"-c", config, "-p", root}})
	if err != nil {
		return nil, err
	}
	p.Address = address
	return p, p.UntilListening(ctx, out)
}

// startBare serves the recorded answer with fasthttp, in a second process of this program.
func (b *bench) startBare(ctx context.Context, recorded *recordedAnswer) (*run.Process, error) {
	text, err := json.Marshal(recorded)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(b.dir, "answer.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p, out, err := run.Start(ctx, b.dir, run.Command{Name: "fasthttp", Program: self, Args: []string{"bare", path}})
	if err != nil {
		return nil, err
	}
	p.Address, _, err = p.UntilSaid(ctx, out, "listens on ")
	return p, err
}

// bareBuffer is the least size of fasthttp's write buffer. The buffer holds the whole answer, whose header takes
// up to bareHeader bytes, so fasthttp sends it with one system call.
const bareBuffer, bareHeader = 64 << 10, 4 << 10

type bareCommand struct {
	Answer string `arg:"" type:"existingfile" help:"The recorded answer, as JSON."`
}

// Run serves the answer until it is killed.
func (c *bareCommand) Run(ctx context.Context) error {
	text, err := os.ReadFile(c.Answer)
	if err != nil {
		return err
	}
	var recorded recordedAnswer
	if err := json.Unmarshal(text, &recorded); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("listens on %s\n", listener.Addr())
	buffer := max(bareBuffer, len(recorded.Plain)+bareHeader)
	server := &fasthttp.Server{Handler: recorded.answer, ReadBufferSize: 12 << 10, WriteBufferSize: buffer, NoDefaultServerHeader: true}
	go func() {
		<-ctx.Done()
		listener.Close()
	}()
	return server.Serve(listener)
}

// answer does only the work that any server needs to send these bytes.
func (r *recordedAnswer) answer(ctx *fasthttp.RequestCtx) {
	for _, h := range r.Header {
		ctx.Response.Header.Set(h[0], h[1])
	}
	ctx.Response.Header.Set("ETag", r.ETag)
	ctx.SetContentType("application/json")
	switch {
	case string(ctx.Request.Header.Peek("If-None-Match")) == r.ETag:
		ctx.SetStatusCode(http.StatusNotModified)
	case len(ctx.Request.Header.Peek("Accept-Encoding")) > 0:
		ctx.Response.Header.Set("Content-Encoding", "gzip")
		ctx.Response.SetBodyRaw(r.Gzip)
	default:
		ctx.Response.SetBodyRaw(r.Plain)
	}
}
