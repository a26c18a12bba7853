package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/moderation"
)

func TestReports(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		author, reader := s.register(t, "Ada"), s.register(t, "Bob")
		id := s.do(t, call{method: "POST", path: "/api/predictions", bearer: author, body: forecast(nil)}).text("prediction", "id")
		path := "/api/predictions/" + id + "/report"
		spam := map[string]any{"kind": "spam", "text": "It says nothing.\nAt all."}
		s.do(t, call{method: "POST", path: path, body: spam}).refused(http.StatusUnauthorized, "missing_credentials")
		first := s.do(t, call{method: "POST", path: path, bearer: reader, body: spam})
		first.fine()
		if first.text("report", "status") != "open" || first.text("report", "predictionId") != id {
			t.Errorf("reported %v", first.at("report"))
		}
		again := s.do(t, call{method: "POST", path: path, bearer: reader, body: spam})
		if again.fine(); again.text("report", "id") != first.text("report", "id") {
			t.Error("the same report sent twice was stored twice")
		}
		dispute := map[string]any{"kind": "dispute", "text": "It did happen."}
		s.do(t, call{method: "POST", path: path, bearer: reader, body: dispute}).refused(http.StatusForbidden, "not_author")
		s.do(t, call{method: "POST", path: path, bearer: author, body: dispute}).refused(http.StatusConflict, "not_settled")
		for _, bad := range []map[string]any{{"kind": "rude", "text": "x"}, {"kind": "spam"}, {"kind": "spam", "text": strings.Repeat("x", 1001)}, {"kind": "spam", "text": "a\x00b"}, {"kind": 7, "text": "x"}} {
			s.do(t, call{method: "POST", path: path, bearer: reader, body: bad}).refused(http.StatusUnprocessableEntity, "invalid_request")
		}
		mine := s.do(t, call{method: "GET", path: path, bearer: reader})
		if mine.fine(); mine.text("reports", 0, "id") != first.text("report", "id") || mine.at("reports", 0, "answer") != nil || mine.text("reports", 0, "status") != "open" {
			t.Errorf("my reports: %v", mine.at("reports"))
		}
		db, err := database.Open(t.Context(), s.Config().DatabaseURL)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		acts := moderation.New(moderation.Options{DB: db, Now: time.Now})
		err = acts.CloseReport(t.Context(), moderation.Act{Actor: "eve", Reason: "It is hidden now."}, uuid.MustParse(first.text("report", "id")))
		if err != nil {
			t.Fatal(err)
		}
		mine = s.do(t, call{method: "GET", path: path, bearer: reader})
		if mine.fine(); mine.text("reports", 0, "answer") != "It is hidden now." || mine.at("reports", 0, "closedAt") == nil {
			t.Errorf("my answered reports: %v", mine.at("reports"))
		}
		if others := s.do(t, call{method: "GET", path: path, bearer: author}); len(others.at("reports").([]any)) != 0 {
			t.Errorf("the author sees the reports of others: %v", others.at("reports"))
		}
		s.do(t, call{method: "GET", path: path}).refused(http.StatusUnauthorized, "missing_credentials")
		for _, missing := range []string{"x", "0198aaaa-0000-7000-8000-000000000001"} {
			s.do(t, call{method: "POST", path: "/api/predictions/" + missing + "/report", bearer: reader, body: spam}).refused(http.StatusNotFound, "not_found")
			s.do(t, call{method: "GET", path: "/api/predictions/" + missing + "/report", bearer: reader}).refused(http.StatusNotFound, "not_found")
		}
	})
}
