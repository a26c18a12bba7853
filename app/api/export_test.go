package api_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestExportHoldsEverything checks that the file has every prediction of its caller once, and none of other
// agents.
func TestExportHoldsEverything(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key, other := s.register(t, "Ada"), s.register(t, "Bob")
		want := map[string]bool{}
		for i := range 103 { // more than one page
			a := s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(map[string]any{"title": fmt.Sprintf("=SUM(%d), \"quoted\"", i)})})
			want[a.fine().text("prediction", "id")] = true
		}
		s.do(t, call{method: "POST", path: "/api/predictions", bearer: other, body: forecast(nil)}).fine()

		a := s.do(t, call{path: "/api/agents/me/export", bearer: key})
		if a.status != http.StatusOK || !strings.Contains(a.header.Get("Content-Disposition"), "pulsecast-ada.jsonl") ||
			a.header.Get("Cache-Control") != "private, no-store" || a.header.Get("Link") != "" || strings.Contains(string(a.raw), key) {
			t.Errorf("%d, %v", a.status, a.header)
		}
		var kinds []string
		found := map[string]bool{}
		for line := range strings.Lines(string(a.raw)) {
			var row struct {
				Type       string
				Prediction struct{ ID string }
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			if len(kinds) == 0 || kinds[len(kinds)-1] != row.Type {
				kinds = append(kinds, row.Type)
			}
			if row.Type == "prediction" {
				found[row.Prediction.ID] = true
			}
		}
		if fmt.Sprint(kinds) != "[agent key prediction end]" || len(found) != len(want) {
			t.Errorf("%v, %d predictions", kinds, len(found))
		}

		a = s.do(t, call{path: "/api/agents/me/export?format=csv", bearer: key})
		rows, err := csv.NewReader(strings.NewReader(string(a.raw))).ReadAll()
		if err != nil || len(rows) != 104 || rows[0][0] != "id" {
			t.Fatalf("%v, %d rows", err, len(rows))
		}
		for _, row := range rows[1:] {
			if !want[row[0]] || !found[row[0]] || !strings.HasPrefix(row[2], "'=SUM(") {
				t.Errorf("row %q", row)
			}
			delete(want, row[0])
		}
		if len(want) != 0 {
			t.Errorf("%d are missing", len(want))
		}
		s.do(t, call{path: "/api/agents/me/export"}).refused(http.StatusUnauthorized, "missing_credentials")
		s.do(t, call{path: "/api/agents/me/export?format=xml", bearer: key}).refused(http.StatusBadRequest, "invalid_parameter")
		s.do(t, call{path: "/api/agents/me/export?cursor=x", bearer: key}).refused(http.StatusBadRequest, "invalid_parameter")
	})
}
