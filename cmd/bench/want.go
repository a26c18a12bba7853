package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// userAgent passes the filter that refuses the default User-Agents of HTTP libraries.
const userAgent = "pulsecast-bench/1.0"

// want is a request and what its answer must look like.
type want struct {
	address, path string
	header        []string // additional header lines
	status        int      // 0 means 200
	contains      string   // a part of the body; not checked if the body is compressed
	changing      bool     // the length of the body changes during the measurement
}

// answer is an answer that was fetched and checked.
type answer struct {
	size   int // bytes on the wire, including the header
	header http.Header
	body   []byte // as sent, possibly compressed
}

func (w want) url() string { return "http://" + w.address + w.path }

func (w want) headers() []string {
	return append([]string{"User-Agent: " + userAgent}, w.header...)
}

// whileChanging returns the same request for an answer whose length changes.
func (w want) whileChanging() want {
	w.changing = true
	return w
}

// compressed returns the same request for the answer in gzip.
func (w want) compressed() want {
	w.header = append(slices.Clone(w.header), "Accept-Encoding: gzip")
	return w
}

// fetch sends the request once, on a new connection, and checks status and body.
func (w want) fetch(ctx context.Context) (a answer, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", w.address)
	if err != nil {
		return a, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	request := "GET " + w.path + " HTTP/1.1\r\nHost: " + w.address + "\r\n" + strings.Join(w.headers(), "\r\n") + "\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		return a, err
	}
	var read bytes.Buffer
	response, err := http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &read)), nil)
	if err != nil {
		return a, fmt.Errorf("GET %s: %w", w.path, err)
	}
	defer response.Body.Close()
	if a.body, err = io.ReadAll(response.Body); err != nil {
		return a, fmt.Errorf("GET %s: %w", w.path, err)
	}
	a.size, a.header = read.Len(), response.Header
	return a, w.check(response.StatusCode, a)
}

func (w want) check(status int, a answer) error {
	expected := w.status
	if expected == 0 {
		expected = http.StatusOK
	}
	if status != expected {
		return fmt.Errorf("GET %s: status %d instead of %d: %.200s", w.path, status, expected, a.body)
	}
	if a.header.Get("Content-Encoding") == "" && !bytes.Contains(a.body, []byte(w.contains)) {
		return fmt.Errorf("GET %s: the answer doesn't contain %q: %.200s", w.path, w.contains, a.body)
	}
	return nil
}
