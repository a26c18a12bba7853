package httpserver

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// certificateCheckEvery is the time between two checks whether the files have changed.
const certificateCheckEvery = time.Second

// certificate is a TLS certificate that is read again when its files change, so a renewal needs no restart.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	looked  time.Time
	read    [2]version // of the files at the last read, successful or not
}

// version identifies one state of a file.
type version struct {
	changed time.Time
	size    int64
}

// serverTLS returns nil if the program serves plain HTTP, behind a proxy or for one machine.
func serverTLS(certFile, keyFile string, log *slog.Logger) *tls.Config {
	if certFile == "" {
		return nil
	}
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: c.get}
}

// get returns the certificate. While changed files can't be used, it returns the previous one. That happens
// during a renewal that has written only one of the two files.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) >= certificateCheckEvery {
		c.looked = time.Now()
		c.look()
	}
	if c.current == nil {
		return nil, fmt.Errorf("no certificate in %s and %s", c.certFile, c.keyFile)
	}
	return c.current, nil
}

func (c *certificate) look() {
	now := [2]version{versionOf(c.certFile), versionOf(c.keyFile)}
	if now == c.read {
		return
	}
	c.read = now
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		c.log.Warn("certificate not read; the previous one stays in use", "error", err)
		return
	}
	c.current = &pair
	c.log.Info("certificate read", "file", c.certFile, "valid_until", pair.Leaf.NotAfter)
}

// versionOf follows links. A missing file has the zero version.
func versionOf(file string) version {
	info, err := os.Stat(file)
	if err != nil {
		return version{}
	}
	return version{info.ModTime(), info.Size()}
}

// answerPlain tells a client that sent plain HTTP that this port serves HTTPS.
func answerPlain(conn net.Conn) {
	const text = "This port serves HTTPS; use an address that starts with https://.\n"
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n"+
		"Content-Length: %d\r\n\r\n%s", len(text), text) // the client may be gone
	_ = conn.Close()
}
