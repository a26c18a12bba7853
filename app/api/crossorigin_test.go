package api_test

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/pulsecast/pulsecast/app/contract"
)

// TestPagesOfOtherSitesCanUseTheAPI checks that a browser lets a page of another site send every request header and
// read every answer header that the document or our TypeScript client names.
func TestPagesOfOtherSitesCanUseTheAPI(t *testing.T) {
	t.Parallel()
	sent, read := headersOfTheContract(t)
	sentByClient, readByClient := headersOfTheClient(t)
	sent, read = append(sent, sentByClient...), append(read, readByClient...)

	s := start(t, backends[0])
	preflight, err := http.DefaultTransport.RoundTrip(s.request(t, call{method: "OPTIONS", path: "/api/predictions", header: map[string]string{
		"Origin": "https://elsewhere.test", "Access-Control-Request-Method": "POST",
	}}))
	if err != nil {
		t.Fatal(err)
	}
	preflight.Body.Close()
	expectHeaders(t, preflight.Header, "Access-Control-Allow-Headers", sent, []string{"Accept"})
	answer := s.do(t, call{path: "/api/health", header: map[string]string{"Origin": "https://elsewhere.test"}}).fine()
	expectHeaders(t, answer.header, "Access-Control-Expose-Headers", read, []string{"Cache-Control", "Content-Type"})
}

// expectHeaders checks that a CORS header lists the wanted names, except those that browsers always allow.
func expectHeaders(t *testing.T, header http.Header, name string, want, always []string) {
	t.Helper()
	listed := strings.Split(header.Get(name), ", ")
	slices.Sort(want)
	for _, wanted := range slices.Compact(want) {
		if !slices.Contains(listed, wanted) && !slices.Contains(always, wanted) {
			t.Errorf("%s: %q lacks %s", name, listed, wanted)
		}
	}
}

func headersOfTheContract(t *testing.T) (sent, read []string) {
	t.Helper()
	all, err := contract.Operations()
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range all {
		for _, p := range op.Parameters {
			if p.Value.In == openapi3.ParameterInHeader {
				sent = append(sent, p.Value.Name)
			}
		}
		for _, response := range op.Responses.Map() {
			for name := range response.Value.Headers {
				read = append(read, name)
			}
		}
	}
	if !slices.Contains(sent, "Idempotency-Key") || !slices.Contains(read, "Link") {
		t.Fatalf("the document's headers were not found: sent %q, read %q", sent, read)
	}
	return sent, read
}

// headersOfTheClient finds the names of headers in the code of the TypeScript client.
func headersOfTheClient(t *testing.T) (sent, read []string) {
	t.Helper()
	source, err := os.ReadFile("../../static/clients/pulsecast.ts")
	if err != nil {
		t.Fatal(err)
	}
	code, _, _ := strings.Cut(string(source), "// Generated from openapi.yaml")
	reads := regexp.MustCompile(`headers\.get\("([^"]+)"\)`)
	names := regexp.MustCompile(`"([A-Z][a-z]+(?:-[A-Z][a-z]+)*)"`)
	for _, line := range strings.Split(code, "\n") {
		if !strings.Contains(strings.ToLower(line), "headers") {
			continue
		}
		for _, found := range reads.FindAllStringSubmatch(line, -1) {
			read = append(read, found[1])
		}
		for _, found := range names.FindAllStringSubmatch(reads.ReplaceAllString(line, ""), -1) {
			sent = append(sent, found[1])
		}
	}
	for _, name := range []string{"User-Agent", "Authorization", "Content-Type", "Idempotency-Key", "If-None-Match"} {
		if !slices.Contains(sent, name) {
			t.Fatalf("%s was not found in the client: %q", name, sent)
		}
	}
	return sent, read
}
