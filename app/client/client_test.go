package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// scripted is a server that gives a test's answers in order. It keeps the requests.
type scripted struct {
	*httptest.Server
	mu  sync.Mutex
	got []*http.Request
}

func newScripted(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, n int)) *scripted {
	t.Helper()
	s := &scripted{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		n := len(s.got)
		s.got = append(s.got, r)
		s.mu.Unlock()
		answer(w, r, n)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *scripted) requests() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func (s *scripted) client(t *testing.T) *Client {
	t.Helper()
	c, err := New(s.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	c.Key = "pc_key"
	return c
}

func refuse(w http.ResponseWriter, status int) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"ok":false,"code":"c%d","detail":"No.","errors":[{"field":"thesis","message":"is required"}],"requestId":"r1","cursor":"c"}`, status)
}

// TestDoRepeats checks that a request is repeated only while that is safe and may help.
func TestDoRepeats(t *testing.T) {
	t.Parallel()
	publish := Request{Method: http.MethodPost, Path: "/api/predictions", IdempotencyKey: "k", Body: []byte(`{}`)}
	register := Request{Method: http.MethodPost, Path: "/api/agents", Body: []byte(`{}`)}
	for _, c := range []struct {
		name     string
		request  Request
		statuses []int // in order, the last one for all further requests; 0 breaks the connection
		want     int   // the final status; 0 if no answer came
		times    int
	}{
		{"a success", publish, []int{200}, 200, 1},
		{"a publication fails", publish, []int{503, 200}, 200, 2},
		{"a publication gets no answer", publish, []int{0, 200}, 200, 2},
		{"a request without an Idempotency-Key fails", register, []int{500}, 500, 1},
		{"a request without an Idempotency-Key is limited", register, []int{429, 200}, 200, 2},
		{"a request without an Idempotency-Key gets no answer", register, []int{0}, 0, 1},
		{"a refusal", publish, []int{422}, 422, 1},
		{"a GET fails", Request{Path: "/api/stats"}, []int{502, 200}, 200, 2},
		{"a redirect", Request{Path: "/api/stats"}, []int{302}, 302, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t, func(w http.ResponseWriter, r *http.Request, n int) {
				switch status := c.statuses[min(n, len(c.statuses)-1)]; status {
				case 0:
					panic(http.ErrAbortHandler)
				case 200:
					io.WriteString(w, `{"ok":true}`)
				case 302:
					http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
				default:
					refuse(w, status)
				}
			})
			body, err := s.client(t).Do(t.Context(), c.request, nil)
			got := 0
			if refusal, ok := errors.AsType[*Refusal](err); ok {
				got = refusal.Status
			} else if err == nil {
				got = 200
			}
			if got != c.want || err == nil && string(body) != `{"ok":true}` {
				t.Errorf("%d (%v, %s); want %d", got, err, body, c.want)
			}
			all := s.requests()
			if len(all) != c.times {
				t.Errorf("%d requests; want %d", len(all), c.times)
			}
			for _, r := range all {
				if r.Header.Get("Idempotency-Key") != c.request.IdempotencyKey || r.Header.Get("Authorization") != "Bearer pc_key" {
					t.Errorf("headers %v", r.Header)
				}
			}
		})
	}
}

// TestTooLong checks that an answer above the limit is refused as such, whether it is a success or a failure,
// and that one at the limit is read.
func TestTooLong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status, bytes int
		want          string // part of the error, "" for none
	}{
		"a success at the limit":    {200, maxBody, ""},
		"a success above the limit": {200, maxBody + 1, "is too long"},
		"a failure above the limit": {404, maxBody + 1, "is too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := `"` + strings.Repeat("x", c.bytes-2) + `"`
			s := newScripted(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
				w.WriteHeader(c.status)
				io.WriteString(w, body)
			})
			var text string
			_, err := s.client(t).Do(t.Context(), Request{Path: "/"}, &text)
			if c.want == "" && (err != nil || len(text) != c.bytes-2) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %d bytes, %v; want an error with %q", len(text), err, c.want)
			}
			if n := len(s.requests()); n != 1 {
				t.Errorf("got %d requests, want 1", n)
			}
		})
	}
}

// TestRetryAfter checks that the client waits as long as the service says.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	s := newScripted(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 0 {
			w.Header().Set("Retry-After", "1")
			refuse(w, 429)
		}
	})
	began := time.Now()
	if _, err := s.client(t).Do(t.Context(), Request{Path: "/"}, nil); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("it waited %s", took)
	}
}

// TestWaitTooLong checks that the client gives up if the service asks for a longer wait than a command
// allows.
func TestWaitTooLong(t *testing.T) {
	t.Parallel()
	s := newScripted(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Retry-After", "3600")
		refuse(w, 429)
	})
	_, err := s.client(t).Do(t.Context(), Request{Path: "/"}, nil)
	refusal, ok := errors.AsType[*Refusal](err)
	if !ok || refusal.RetryAfter != time.Hour || refusal.RequestID != "r1" || refusal.Cursor != "c" {
		t.Errorf("%+v", err)
	}
	if want := "No.\n  thesis is required (429 c429, request r1)"; err.Error() != want {
		t.Errorf("%q; want %q", err, want)
	}
}

func TestNewRefusesOtherAddresses(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "pulsecast.example", "ftp://pulsecast.example", "https://", "https://a.example?b"} {
		if _, err := New(base); err == nil {
			t.Errorf("%q is accepted", base)
		}
	}
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ given, want, refusal string }{
		{"pc_key", "pc_key", ""},
		{" pc_key\r\n", "pc_key", ""},
		{"", "", ""},
		{"\n", "", ""},
		{"a.b-c_d~e+f/g=", "a.b-c_d~e+f/g=", ""},
		{"pc_one\npc_two", "", `character 7 of the API key is '\n'`},
		{"pc_one two", "", "' '"},
		{"pc_\x00", "", `'\x00'`},
		{"pc_é", "", "'é'"},
		{"“pc_key”", "", "character 1"},
	} {
		key, err := ParseKey(c.given)
		if c.refusal == "" && (err != nil || key != c.want) || c.refusal != "" && (err == nil || !strings.Contains(err.Error(), c.refusal)) {
			t.Errorf("%q gives %q, %v; want %q, %q", c.given, key, err, c.want, c.refusal)
		}
	}
}

// TestExportJoinsParts checks that the parts of an export become one file, and that an incomplete part is
// an error.
func TestExportJoinsParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		format  Format
		parts   []string
		want    string
		records int
		fails   bool
	}{
		{"one part", JSONLines, []string{`{"type":"agent"}\n{"type":"prediction"}\n{"type":"end"}\n`}, `{"type":"agent"}\n{"type":"prediction"}\n{"type":"end"}\n`, 1, false},
		{"two parts", JSONLines, []string{`{"type":"agent"}\n{"type":"key"}\n{"type":"prediction","n":1}\n{"type":"end","nextCursor":"p1"}\n`, `{"type":"agent"}\n{"type":"key"}\n{"type":"prediction","n":2}\n{"type":"end","nextCursor":null}\n`},
			`{"type":"agent"}\n{"type":"key"}\n{"type":"prediction","n":1}\n{"type":"prediction","n":2}\n{"type":"end","nextCursor":null}\n`, 2, false},
		{"cut short", JSONLines, []string{`{"type":"agent"}\n{"type":"prediction"}\n`}, "", 0, true},
		{"CSV", CSV, []string{`id,thesis\n1,"two\nlines"\n`, `id,thesis\n2,"a ""word"""\n`}, `id,thesis\n1,"two\nlines"\n2,"a ""word"""\n`, 2, false},
		{"an empty CSV", CSV, []string{`id,thesis\n`}, `id,thesis\n`, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t, func(w http.ResponseWriter, r *http.Request, n int) {
				if want := []string{"", "p1"}[n]; r.URL.Query().Get("cursor") != want || r.URL.Query().Get("format") != string(c.format) {
					t.Errorf("part %d asks for %s", n, r.URL)
				}
				if n+1 < len(c.parts) {
					w.Header().Set("Link", `<https://pulsecast.example/api/agents/me/export?format=x&cursor=p1>; rel="next"`)
				}
				io.WriteString(w, strings.ReplaceAll(c.parts[n], `\n`, "\n"))
			})
			var out strings.Builder
			records := 0
			err := s.client(t).Export(t.Context(), c.format, &out, func() { records++ })
			if (err != nil) != c.fails {
				t.Fatal(err)
			}
			if want := strings.ReplaceAll(c.want, `\n`, "\n"); !c.fails && (out.String() != want || records != c.records) {
				t.Errorf("%d records\n%s\nwant %d\n%s", records, &out, c.records, want)
			}
		})
	}
}

// TestWatchResumes checks that a stream that ends is resumed after the last update, that a failure is
// retried, and that a refusal ends the stream.
func TestWatchResumes(t *testing.T) {
	t.Parallel()
	s := newScripted(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		switch n {
		case 0:
			io.WriteString(w, ": hello\n\nid: 7\nevent: market.moved\ndata: {\"id\":\"7\"}\n\n")
		case 1:
			refuse(w, 503)
		case 2:
			io.WriteString(w, "id: 8\nevent: market.closed\ndata: {\"id\":\"8\"}\n\n")
		default:
			refuse(w, 401)
		}
	})
	var seen []Streamed
	err := s.client(t).Watch(t.Context(), url.Values{"types": {"a,b"}}, func(one Streamed) error {
		seen = append(seen, one)
		return nil
	})
	if refusal, ok := errors.AsType[*Refusal](err); !ok || refusal.Status != 401 {
		t.Errorf("it ends with %v", err)
	}
	want := []Streamed{{"market.moved", "7", `{"id":"7"}`}, {"market.closed", "8", `{"id":"8"}`}}
	if !slices.Equal(seen, want) {
		t.Errorf("%v; want %v", seen, want)
	}
	for i, last := range []string{"", "7", "7", "8"} {
		if r := s.requests()[i]; r.Header.Get("Last-Event-ID") != last || r.URL.RawQuery != "types=a%2Cb" {
			t.Errorf("connection %d: Last-Event-ID %q, %s", i, r.Header.Get("Last-Event-ID"), r.URL)
		}
	}
}

// TestWatchWithoutEvents checks that a stream is resumed at the position that it was told, and that a position is no
// event.
func TestWatchWithoutEvents(t *testing.T) {
	t.Parallel()
	s := newScripted(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		switch n {
		case 0:
			io.WriteString(w, ": heartbeat\nid: 7\n\n")
		case 1:
			io.WriteString(w, ": heartbeat\n\n: heartbeat\nid: 9\n\nid: 8\n\n")
		default:
			refuse(w, 401)
		}
	})
	err := s.client(t).Watch(t.Context(), nil, func(one Streamed) error { return fmt.Errorf("got %+v", one) })
	if refusal, ok := errors.AsType[*Refusal](err); !ok || refusal.Status != 401 {
		t.Fatalf("it ends with %v", err)
	}
	for i, last := range []string{"", "7", "8"} {
		if got := s.requests()[i].Header.Get("Last-Event-ID"); got != last {
			t.Errorf("connection %d: Last-Event-ID %q, want %q", i, got, last)
		}
	}
}

// TestWatchDropsCutEvents checks that an event counts only with the empty line at its end, wherever a connection ends.
// It then comes once, after the next connection.
func TestWatchDropsCutEvents(t *testing.T) {
	t.Parallel()
	const position, event = ": heartbeat\nid: 7\n\n", "id: 8\nevent: market.moved\ndata: {}\n\n"
	for sent, last := range map[string]string{ // and the id that is stored
		": heartbeat\nid: 7":                          "",
		": heartbeat\nid: 7\n":                        "",
		position:                                      "7",
		position + "id: 8":                            "7",
		position + "id: 8\n":                          "7",
		position + "id: 8\nevent: market.moved\n":     "7",
		position + strings.TrimSuffix(event, "}\n\n"): "7",
		position + strings.TrimSuffix(event, "\n"):    "7",
		position + event:                              "8",
	} {
		t.Run(sent, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t, func(w http.ResponseWriter, r *http.Request, n int) {
				switch {
				case n == 0:
					io.WriteString(w, sent)
				case r.Header.Get("Last-Event-ID") == "8":
					refuse(w, 401)
				default:
					io.WriteString(w, event)
				}
			})
			var seen []Streamed
			err := s.client(t).Watch(t.Context(), nil, func(one Streamed) error {
				seen = append(seen, one)
				return nil
			})
			if refusal, ok := errors.AsType[*Refusal](err); !ok || refusal.Status != 401 {
				t.Errorf("it ends with %v", err)
			}
			if want := []Streamed{{"market.moved", "8", "{}"}}; !slices.Equal(seen, want) {
				t.Errorf("got %+v, want %+v", seen, want)
			}
			if got := s.requests()[1].Header.Get("Last-Event-ID"); got != last {
				t.Errorf("it resumes at %q, want %q", got, last)
			}
		})
	}
}

// TestWatchEnds checks that a stream ends with its context, and with the first failure of its reader.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	s := newScripted(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		io.WriteString(w, "data: {}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	err := s.client(t).Watch(ctx, nil, func(Streamed) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ended by its context: %v", err)
	}
	full := errors.New("the disk is full")
	if err := s.client(t).Watch(t.Context(), nil, func(Streamed) error { return full }); !errors.Is(err, full) {
		t.Errorf("ended by its reader: %v", err)
	}
}
