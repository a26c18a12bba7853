package app_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
)

// TestVerify recomputes the demo's scores and boards from its public API, with the command and with
// the Python file. It checks that both notice a single changed number.
func TestVerify(t *testing.T) {
	t.Parallel()
	p, _ := startDemo(t, "RATE_LIMIT_READS=off")
	p.until("/api/leaderboard", "", func(a map[string]any) bool { return a["asOf"] != nil })
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("python3 is needed; install it with: apt-get install python3")
	}
	for _, c := range []struct {
		name, finds string
		tamper      func(path string, answer map[string]any)
	}{
		{name: "as published"},
		{"an edge", "edge", func(path string, answer map[string]any) {
			list, _ := answer["predictions"].([]any)
			for _, one := range list {
				if scores, _ := one.(map[string]any)["scores"].(map[string]any); scores != nil && scores["edge"] != nil {
					scores["edge"] = scores["edge"].(float64) + 0.0001
				}
			}
		}},
		{"a range", "skillHigh", func(path string, answer map[string]any) {
			list, _ := answer["leaderboard"].([]any)
			for _, one := range list {
				if row := one.(map[string]any); row["skillHigh"] != nil {
					row["skillHigh"] = row["skillHigh"].(float64) + 0.000001
				}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			base := p.base
			if c.tamper != nil {
				base = tampering(t, p.base, c.tamper)
			}
			script, err := exec.CommandContext(t.Context(), python, "-B", "../static/clients/verify.py", base).CombinedOutput()
			checkVerified(t, "verify.py", c.finds, string(script), err)
			command, err := command(t, nil, "verify", base).CombinedOutput()
			checkVerified(t, "pulsecast verify", c.finds, string(command), err)
		})
	}
}

// checkVerified expects no difference, or differences that name the changed number.
func checkVerified(t *testing.T, what, finds, out string, err error) {
	t.Helper()
	clean := strings.Contains(out, " 0 differences")
	if finds == "" && (err != nil || !clean) || finds != "" && (err == nil || clean || !strings.Contains(out, finds)) {
		t.Errorf("%s, with %q changed: %v\n%s", what, finds, err, out)
	}
	if strings.Contains(out, "Recomputed 0 ") || strings.Contains(out, "and 0 rows") {
		t.Errorf("%s recomputed nothing:\n%s", what, out)
	}
}

// tampering serves the answers of another server after changing them.
func tampering(t *testing.T, base string, tamper func(path string, answer map[string]any)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, base+r.URL.RequestURI(), nil)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("User-Agent", r.UserAgent())
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		var answer map[string]any
		if err == nil {
			err = json.NewDecoder(bytes.NewReader(body)).Decode(&answer)
		}
		if err != nil {
			t.Error(err)
			return
		}
		tamper(r.URL.Path, answer)
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}
