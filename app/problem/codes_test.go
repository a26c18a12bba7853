package problem_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/pulsecast/pulsecast/app/contract"
	"github.com/pulsecast/pulsecast/app/problem"
)

// TestCodesMatchTheContract checks that the document lists exactly the codes of the API.
func TestCodesMatchTheContract(t *testing.T) {
	t.Parallel()
	documented, err := contract.Codes()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, code := range problem.Codes {
		names = append(names, code.Name)
		if listed := slices.Contains(documented, code.Name); listed == code.PagesOnly {
			t.Errorf("%s: in openapi.yaml %v, only for pages %v", code.Name, listed, code.PagesOnly)
		}
	}
	for _, name := range documented {
		if !slices.Contains(names, name) {
			t.Errorf("openapi.yaml lists %s, which is not in the catalogue", name)
		}
	}
}

func TestCodesAreComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, code := range problem.Codes {
		if seen[code.Name] {
			t.Errorf("%s is listed twice", code.Name)
		}
		seen[code.Name] = true
		if code.Status < 400 || code.Title == "" || code.Meaning == "" {
			t.Errorf("%+v", code)
		}
		if p := problem.New(code, "Detail."); p.Code != code.Name || p.Status != code.Status || p.Title != code.Title || p.Detail != "Detail." {
			t.Errorf("%+v", p)
		}
	}
	source, err := os.ReadFile("codes.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^\tCode\w+ += `).FindAll(source, -1)
	if len(declared) != len(problem.Codes) || len(declared) == 0 {
		t.Errorf("%d codes are declared, %d are listed", len(declared), len(problem.Codes))
	}
}
