package contracttest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/contract"
	"github.com/pulsecast/pulsecast/app/contract/contracttest"
)

// TestCheck checks that answers which differ from the document are found.
func TestCheck(t *testing.T) {
	t.Parallel()
	example := func(operation, media string) string {
		t.Helper()
		e, err := contract.ReadExample(operation)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(e.Answers[media])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	const plain, problem = "application/json; charset=utf-8", "application/problem+json"
	page, refusal := example("listPredictions", "application/json"), example("problem", problem)
	for name, tc := range map[string]struct {
		path   string
		status int
		media  string
		body   string
		wrong  string // part of the error; "" if the answer is right
	}{
		"a page":                       {"/api/predictions", 200, plain, page, ""},
		"a refusal":                    {"/api/predictions", 400, problem, refusal, ""},
		"another path":                 {"/predictions", 200, "text/html", "<p>", ""},
		"an unknown field":             {"/api/predictions", 200, plain, strings.Replace(page, `"ok":true`, `"ok":true,"extra":1`, 1), "extra"},
		"an unknown field of a record": {"/api/predictions", 200, plain, strings.Replace(page, `"createdAt":`, `"createdOn":"2026-11-21","createdAt":`, 1), "createdOn"},
		"a missing field":              {"/api/predictions", 200, plain, strings.Replace(page, `"ok":true`, `"fine":true`, 1), "ok"},
		"another type":                 {"/api/predictions", 200, plain, strings.Replace(page, `"ok":true`, `"ok":"yes"`, 1), "/ok"},
		"a time that is none":          {"/api/predictions", 200, plain, strings.Replace(page, `"createdAt":"2026`, `"createdAt":"noon, 2026`, 1), "createdAt"},
		"a limit that isn't named":     {"/api/health", 200, plain, example("getHealth", "application/json"), "RateLimit"},
		"no JSON":                      {"/api/predictions", 200, plain, "<p>", "invalid character"},
		"an undocumented path":         {"/api/nothing", 200, plain, "{}", "isn't in the document"},
		"a page as a refusal":          {"/api/predictions", 400, problem, page, "code"},
		"a refusal of a page":          {"/api/predictions", 200, problem, refusal, "Content-Type"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.wrong != "" && tc.status == 200 && tc.body == page {
				t.Fatal("the case changes nothing of the example")
			}
			res := &http.Response{StatusCode: tc.status, Header: http.Header{
				"Content-Type": {tc.media}, "Etag": {`"1"`}, "X-Request-Id": {"1"}, "Cache-Control": {"no-cache"}, "Ratelimit": {`"reads";r=1;t=1`},
			}}
			err := contracttest.Check(httptest.NewRequest(http.MethodGet, tc.path, nil), res, []byte(tc.body))
			switch message := fmt.Sprint(err); {
			case tc.wrong == "" && err != nil:
				t.Error(err)
			case tc.wrong != "":
				message, _, _ = strings.Cut(message, "\n"+tc.body[:1]) // the error ends with the body
				if err == nil || !strings.Contains(message, tc.wrong) {
					t.Errorf("got %v, want an error that contains %q", message, tc.wrong)
				}
			}
		})
	}
}
