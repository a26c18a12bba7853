package fetch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/fetch"
)

// pauses records the pauses of a client that doesn't really sleep.
type pauses struct{ taken []time.Duration }

func (p *pauses) sleep(_ context.Context, d time.Duration) error {
	p.taken = append(p.taken, d)
	return nil
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func wantReason(t *testing.T, err error, reason string) *source.Error {
	t.Helper()
	se, ok := errors.AsType[*source.Error](err)
	if !ok || se.Reason != reason {
		t.Fatalf("got error %v, want a *source.Error with reason %q", err, reason)
	}
	return se
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name        string
		status      int
		contentType string
		body        string
		reason      string // empty means success
		want        string
	}{
		{"plain JSON", 200, "application/json", ` {"a":1} `, "", `{"a":1}`},
		{"byte order mark", 200, "application/json", "\xef\xbb\xbf{\"a\":1}", "", `{"a":1}`},
		{"invalid UTF-8", 200, "application/json", "{\"a\":\"x\xffy\"}", "", `{"a":"xy"}`},
		{"raw NUL", 200, "application/json", "{\"a\":\"x\x00y\"}", "", `{"a":"xy"}`},
		{"mislabelled JSON", 200, "text/html", `[1]`, "", `[1]`},
		{"HTML page", 200, "text/html", "<!DOCTYPE html><html>blocked", "parse", ""},
		{"HTML labelled JSON", 200, "application/json", "<html>blocked", "parse", ""},
		{"truncated", 200, "application/json", `{"a":[1,2`, "parse", ""},
		{"empty body", 200, "application/json", "", "parse", ""},
		{"not JSON", 200, "text/plain", "hello", "parse", ""},
		{"validation error", 422, "application/json", `{"type":"validation error","error":"offset"}`, "http_422", ""},
		{"unauthorized", 401, "application/json", `{}`, "unauthorized", ""},
		{"forbidden", 403, "text/html", "<html>", "http_403", ""},
		{"not found", 404, "application/json", `{}`, "http_404", ""},
		{"no content", 204, "", "", "http_204", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				w.Header().Set("Content-Type", c.contentType)
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			var p pauses
			var raw any
			resp, err := fetch.New(fetch.Options{Sleep: p.sleep}).JSON(t.Context(), fetch.Request{URL: address}, &raw)
			if calls.Load() != 1 {
				t.Errorf("got %d calls, want 1 because none of these may be repeated", calls.Load())
			}
			if c.reason != "" {
				wantReason(t, err, c.reason)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if string(resp.Body) != c.want {
				t.Errorf("got body %q, want %q", resp.Body, c.want)
			}
		})
	}
}

// TestAge reads how long a cache has kept a response.
func TestAge(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "30": 30 * time.Second, " 30 , 900": 30 * time.Second, "3600": time.Hour,
		"86400": time.Hour, "99999999999999999999999": time.Hour, // a wrong header must not move a reading by days
		"-30": 0, "1.5": 0, "+30": 0, "soon": 0, ",30": 0, "NaN": 0,
	} {
		address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Age", value)
			_, _ = io.WriteString(w, "{}")
		})
		got, err := fetch.New(fetch.Options{}).Do(t.Context(), fetch.Request{URL: address})
		if err != nil || got.Age != want {
			t.Errorf("Age %q: got %v, %v, want %v", value, got.Age, err, want)
		}
	}
}

func TestFeedMustBeXML(t *testing.T) {
	t.Parallel()
	for body, reason := range map[string]string{
		"<?xml version=\"1.0\"?><feed/>": "",
		"<feed/>":                        "",
		"<html><body>login":              "parse",
		"<!doctype html>":                "parse",
		`{"error":403}`:                  "parse",
	} {
		address := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		_, err := fetch.New(fetch.Options{}).Do(t.Context(), fetch.Request{URL: address, Format: fetch.XML})
		if reason == "" && err != nil {
			t.Errorf("%s: %v", body, err)
		}
		if reason != "" {
			wantReason(t, err, reason)
		}
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	second := func(n int) time.Duration { return time.Duration(n) * time.Second }
	cases := []struct {
		name       string
		status     int
		header     map[string]string
		failures   int32 // answers before the first 200
		wantCalls  int32
		reason     string
		pause      time.Duration // pause before the first retry; 0 means back-off
		retryAfter time.Duration
	}{
		{"500, then 200", 500, nil, 1, 2, "", 0, 0},
		{"503 always", 503, nil, 99, 3, "http_503", 0, 0},
		{"429 seconds", 429, map[string]string{"Retry-After": "7"}, 1, 2, "", second(7), 0},
		{"429 date", 429, map[string]string{"Retry-After": now.Add(second(5)).Format(http.TimeFormat)}, 1, 2, "", second(5), 0},
		{"429 past date", 429, map[string]string{"Retry-After": now.Add(-second(5)).Format(http.TimeFormat)}, 1, 2, "", 0, 0},
		{"429 too long to wait", 429, map[string]string{"Retry-After": "600"}, 99, 1, "http_429", 0, second(600)},
		{"429 absurd", 429, map[string]string{"Retry-After": "99999999999999"}, 99, 1, "http_429", 0, time.Hour},
		{"429 nonsense", 429, map[string]string{"Retry-After": "soon"}, 1, 2, "", 0, 0},
		{"429 by Reddit", 429, map[string]string{"X-Ratelimit-Reset": "300"}, 99, 1, "http_429", 0, second(300)},
		{"429 always", 429, map[string]string{"Retry-After": "2"}, 99, 3, "http_429", second(2), second(2)},
		{"422 is final", 422, nil, 99, 1, "http_422", 0, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if calls.Add(1) > c.failures {
					_, _ = io.WriteString(w, "{}")
					return
				}
				for k, v := range c.header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(c.status)
			})
			var p pauses
			client := fetch.New(fetch.Options{Sleep: p.sleep, Now: func() time.Time { return now }})
			_, err := client.Do(t.Context(), fetch.Request{URL: address})
			if calls.Load() != c.wantCalls {
				t.Errorf("got %d calls, want %d", calls.Load(), c.wantCalls)
			}
			if c.reason == "" && err != nil {
				t.Fatal(err)
			}
			if c.reason != "" {
				if se := wantReason(t, err, c.reason); se.RetryAfter != c.retryAfter {
					t.Errorf("got RetryAfter %v, want %v", se.RetryAfter, c.retryAfter)
				}
			}
			if c.pause > 0 && p.taken[0] != c.pause {
				t.Errorf("got pauses %v, want %v", p.taken[0], c.pause)
			}
			if c.pause == 0 && len(p.taken) > 0 && (p.taken[0] < 250*time.Millisecond || p.taken[0] > 750*time.Millisecond) {
				t.Errorf("got first back-off %v, want 500 ms with up to half of it as jitter", p.taken[0])
			}
		})
	}
}

func TestOnceIsNotRepeated(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) { calls.Add(1); w.WriteHeader(503) })
	var p pauses
	_, err := fetch.New(fetch.Options{Sleep: p.sleep}).Do(t.Context(), fetch.Request{URL: address, Once: true})
	wantReason(t, err, "http_503")
	if calls.Load() != 1 {
		t.Errorf("got %d calls", calls.Load())
	}
}

func TestDown(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String()
	_ = l.Close()
	_, err = fetch.New(fetch.Options{}).Do(t.Context(), fetch.Request{URL: address})
	wantReason(t, err, "refused")
	lost := transport(func(*http.Request) (*http.Response, error) { return nil, &net.DNSError{IsNotFound: true} })
	_, err = fetch.New(fetch.Options{Transport: lost}).Do(t.Context(), fetch.Request{URL: "http://upstream.example/"})
	wantReason(t, err, "unreachable")
	_, err = fetch.New(fetch.Options{}).Do(t.Context(), fetch.Request{URL: "http://bad host/"})
	wantReason(t, err, "unreachable")
}

// transport replaces the network in tests that can't use it.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestHanging(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]string{"before the header": "", "in the body": `{"a":`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			address := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if start != "" {
					_, _ = io.WriteString(w, start)
					_ = http.NewResponseController(w).Flush()
				}
				select {
				case <-r.Context().Done():
				case <-release:
				}
			})
			t.Cleanup(func() { close(release) })
			var p pauses
			client := fetch.New(fetch.Options{AttemptTimeout: 30 * time.Millisecond, Sleep: p.sleep})
			_, err := client.Do(t.Context(), fetch.Request{URL: address})
			wantReason(t, err, "timeout")
			if len(p.taken) != 2 {
				t.Errorf("got %d retries, want 2", len(p.taken))
			}
			client = fetch.New(fetch.Options{Deadline: 30 * time.Millisecond})
			_, err = client.Do(t.Context(), fetch.Request{URL: address})
			wantReason(t, err, "timeout")
		})
	}
}

func TestCancelledByTheCaller(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	address := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	_, err := fetch.New(fetch.Options{}).Do(ctx, fetch.Request{URL: address})
	wantReason(t, err, "cancelled")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v does not wrap context.Canceled", err)
	}
}

func TestFlood(t *testing.T) {
	t.Parallel()
	const flood = 200 << 20
	var sent atomic.Int64
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		chunk := bytes.Repeat([]byte(" "), 64<<10)
		for sent.Load() < flood {
			n, err := w.Write(chunk)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	// The size limit must end this call, not the timeout on a slow machine.
	patient := fetch.Options{AttemptTimeout: time.Minute, Deadline: time.Minute}
	_, err := fetch.New(patient).Do(t.Context(), fetch.Request{URL: address})
	wantReason(t, err, "too_large")
	if sent.Load() > 64<<20 {
		t.Errorf("%d MiB left the server for a cap of 16 MiB", sent.Load()>>20)
	}
}

// TestCorruptCompression checks that a body which is broken as sent isn't requested again.
func TestCorruptCompression(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"no header": "plain text", "nonsense": "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xffnonsense"} {
		address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, body)
		})
		var p pauses
		_, err := fetch.New(fetch.Options{Sleep: p.sleep}).Do(t.Context(), fetch.Request{URL: address})
		if se := wantReason(t, err, "parse"); len(p.taken) != 0 {
			t.Errorf("%s: got %v after %d repeats", name, se, len(p.taken))
		}
	}
}

func TestCapCountsDecompressedBytes(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(bytes.Repeat([]byte(" "), 2<<20))
	_ = z.Close()
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	})
	_, err := fetch.New(fetch.Options{MaxBytes: 1 << 20}).Do(t.Context(), fetch.Request{URL: address})
	wantReason(t, err, "too_large")
}

func TestCapByContentLength(t *testing.T) {
	t.Parallel()
	body := []byte(`"123456789"`)
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
	_, err := fetch.New(fetch.Options{MaxBytes: int64(len(body)) - 1}).Do(t.Context(), fetch.Request{URL: address})
	wantReason(t, err, "too_large")
	if _, err = fetch.New(fetch.Options{MaxBytes: int64(len(body))}).Do(t.Context(), fetch.Request{URL: address}); err != nil {
		t.Errorf("a body of exactly the limit: got %v", err)
	}
}

func TestBodyCutByTheNetwork(t *testing.T) {
	t.Parallel()
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"a":1}`)
	})
	var p pauses
	_, err := fetch.New(fetch.Options{Sleep: p.sleep}).Do(t.Context(), fetch.Request{URL: address})
	wantReason(t, err, "interrupted")
	if len(p.taken) != 2 {
		t.Errorf("got %d repeats", len(p.taken))
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("followed to another host") })
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, elsewhere, http.StatusFound)
		case "/moved":
			http.Redirect(w, r, "/here", http.StatusMovedPermanently)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		default:
			_, _ = io.WriteString(w, "{}")
		}
	})
	client := fetch.New(fetch.Options{})
	_, err := client.Do(t.Context(), fetch.Request{URL: address + "/away"})
	wantReason(t, err, "http_302")
	_, err = client.Do(t.Context(), fetch.Request{URL: address + "/round"})
	wantReason(t, err, "http_302")
	if _, err = client.Do(t.Context(), fetch.Request{URL: address + "/moved"}); err != nil {
		t.Error(err)
	}
}

func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	var got *http.Request
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		got = r
		_, _ = io.WriteString(w, "{}")
	})
	client := fetch.New(fetch.Options{UserAgent: "ours/1"})
	if _, err := client.Do(t.Context(), fetch.Request{URL: address}); err != nil {
		t.Fatal(err)
	}
	if got.Method != "GET" || got.UserAgent() != "ours/1" {
		t.Errorf("sent %s as %q", got.Method, got.UserAgent())
	}
	_, err := client.Do(t.Context(), fetch.Request{URL: address,
		Header: http.Header{"User-Agent": {"theirs/2"}}, Form: url.Values{"a": {"b"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got.Method != "POST" || got.UserAgent() != "theirs/2" || got.PostForm.Get("a") != "b" {
		t.Errorf("sent %s as %q with %v", got.Method, got.UserAgent(), got.PostForm)
	}
}

// TestErrorsKeepCredentialsPrivate checks the text of errors, because errors are logged and quote refusals.
func TestErrorsKeepCredentialsPrivate(t *testing.T) {
	t.Parallel()
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		w.WriteHeader(403)
		_, _ = io.WriteString(w, "you sent "+r.Header.Get("Authorization")+", that is "+password)
	})
	for _, sent := range []string{"Bearer hush-hush", "Basic " + base64.StdEncoding.EncodeToString([]byte("us:hush"))} {
		_, secret, _ := strings.Cut(sent, " ")
		_, err := fetch.New(fetch.Options{}).Do(t.Context(), fetch.Request{URL: address, Header: http.Header{"Authorization": {sent}}})
		if text := wantReason(t, err, "http_403").Error(); strings.Contains(text, secret) || strings.Contains(text, "hush") || !strings.Contains(text, "you sent") {
			t.Errorf("got error text %s", text)
		}
	}
}

func TestErrorsKeepTheQueryPrivate(t *testing.T) {
	t.Parallel()
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) })
	_, err := fetch.New(fetch.Options{}).Do(t.Context(), fetch.Request{URL: address + "/x?secret=hush"})
	if err == nil || bytes.Contains([]byte(err.Error()), []byte("hush")) {
		t.Errorf("got error text %v", err)
	}
}
