package stdio

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestLongMessages checks that a message that the installation may accept is passed on, and that a longer one gets an
// error with its id, also if it is the last line, and doesn't end the program. One without an id gets no answer.
func TestLongMessages(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%d}`, len(body))
	}))
	t.Cleanup(s.Close)
	around := func(begin string, bytes int, end string) string {
		return begin + strings.Repeat("x", bytes-len(begin)-len(end)) + end
	}
	message := func(bytes int) string { return around(`{"jsonrpc":"2.0","id":1,"method":"ping","x":"`, bytes, `"}`) }
	const most = 2 << 20
	var out strings.Builder
	err := Run(t.Context(), Options{
		BaseURL: s.URL, Out: &out, Log: t.Output(),
		In: strings.NewReader(strings.Join([]string{message(100), message(most), message(most + 1), message(5 * most), message(200),
			around(`{"x":{"id":7,"y":"`, most+1, `"}, "id" : "last", "jsonrpc": "2.0"}`), around(`{"method":"ping","x":{"id":7,"y":"`, most+1, `"}}`), message(most + 2)}, "\n")),
	})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	slices.Sort(got)
	answer := `{"jsonrpc":"2.0","id":1,"result":%d}`
	refusal := `{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"This message is longer than 2097152 bytes. Send less in one call."}}`
	want := []string{fmt.Sprintf(answer, 100), fmt.Sprintf(answer, 200), fmt.Sprintf(answer, most), fmt.Sprintf(refusal, "1"), fmt.Sprintf(refusal, "1"), fmt.Sprintf(refusal, "1"), fmt.Sprintf(refusal, `"last"`)}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestOddMembersArePassedOn checks that a message whose params or method have another type than the proxy reads is
// answered by the installation, which knows the id.
func TestOddMembersArePassedOn(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	t.Cleanup(s.Close)
	messages := []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":[1]}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":"x","name":"getStats"}}`,
		`{"jsonrpc":"2.0","id":4,"method":5}`,
	}
	var out strings.Builder
	if err := Run(t.Context(), Options{BaseURL: s.URL, In: strings.NewReader(strings.Join(messages, "\n")), Out: &out, Log: t.Output()}); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	slices.Sort(got)
	if !slices.Equal(got, messages) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// TestRedirectsAreRefused checks that the key and the message aren't sent to an address that the user didn't choose.
func TestRedirectsAreRefused(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			followed := make(chan string, 1)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/elsewhere" {
					followed <- r.Header.Get("Authorization")
					return
				}
				http.Redirect(w, r, "/elsewhere", status)
			}))
			t.Cleanup(s.Close)
			var out strings.Builder
			err := Run(t.Context(), Options{
				BaseURL: s.URL, Key: "pc_key", Out: &out, Log: t.Output(), In: strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`),
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(followed) > 0 {
				t.Errorf("the redirect was followed, with the header %q", <-followed)
			}
			if !strings.Contains(out.String(), "redirects to") {
				t.Errorf("answered %s", out.String())
			}
		})
	}
}
