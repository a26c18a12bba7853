package httpserver

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeCertificate writes a certificate with a serial number, and its key.
func writeCertificate(t *testing.T, certFile, keyFile string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template(serial), template(serial), &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func template(serial int64) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "pulse.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
}

// secureNode is a node that serves HTTPS.
func secureNode(t *testing.T) (n *node, certFile, keyFile string) {
	t.Helper()
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, certFile, keyFile, 1)
	n = run(t, func(o *Options) {
		o.Config.TLSCert, o.Config.TLSKey, o.Config.BaseURL = certFile, keyFile, "https://pulse.test"
	}, func(s *Server) { s.App.Get("/api/x", ok) })
	return n, certFile, keyFile
}

// handshake connects and offers HTTP/2 as browsers do.
func handshake(t *testing.T, addr string) *tls.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn
}

func TestHTTPS(t *testing.T) {
	t.Parallel()
	n, _, _ := secureNode(t)
	for request, status := range map[string]int{
		get + "\r\n":                 200,
		get + "Host: y\r\n\r\n":      400, // the check is inside TLS
		get + "X-A: b\r\n c\r\n\r\n": 400,
	} {
		conn := handshake(t, n.addr)
		if proto := conn.ConnectionState().NegotiatedProtocol; proto != "http/1.1" {
			t.Errorf("negotiated %q", proto)
		}
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != status || resp.Header.Get("Strict-Transport-Security") == "" {
			t.Errorf("%d %v", resp.StatusCode, resp.Header)
		}
	}
	if _, err := tls.Dial("tcp", n.addr, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is accepted")
	}
}

func TestPlainHTTPToAPortOfHTTPS(t *testing.T) {
	t.Parallel()
	n, _, _ := secureNode(t)
	r := n.talk(t, get+"\r\n", 1)[0]
	if r.StatusCode != 400 || !strings.Contains(r.body, "https://") || !r.Close {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
}

// TestCertificateIsReadAgain checks that a renewed certificate is served without a restart, and that the
// previous certificate stays in use while the files don't fit together.
func TestCertificateIsReadAgain(t *testing.T) {
	t.Parallel()
	n, certFile, keyFile := secureNode(t)
	serial := func() int64 { return handshake(t, n.addr).ConnectionState().PeerCertificates[0].SerialNumber.Int64() }
	await := func(what string, done func() bool) {
		for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	if got := serial(); got != 1 {
		t.Fatalf("certificate %d", got)
	}
	writeCertificate(t, certFile, filepath.Join(t.TempDir(), "elsewhere.pem"), 2) // the renewal is half done
	await("the log doesn't say that the files can't be used", func() bool {
		if got := serial(); got != 1 {
			t.Fatalf("certificate %d", got)
		}
		return strings.Contains(n.logs.text(), "certificate not read")
	})
	writeCertificate(t, certFile, keyFile, 3)
	await("the renewed certificate isn't served", func() bool { return serial() == 3 })
}
