package app_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// prompts checks that prompts name only existing tools, and accept only names or ids as arguments.
func (m *model) prompts(t *testing.T) {
	list, err := m.ListPrompts(t.Context(), nil)
	if err != nil || len(list.Prompts) != 4 {
		t.Fatalf("prompts: %+v, %v", list, err)
	}
	for _, p := range list.Prompts {
		argument := p.Arguments[0]
		get := func(value string) (string, error) {
			got, err := m.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: p.Name, Arguments: map[string]string{argument.Name: value}})
			if err != nil {
				return "", err
			}
			return got.Messages[0].Content.(*mcp.TextContent).Text, nil
		}
		text, err := get("sample-1")
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		named := regexp.MustCompile(`\b(get|list|publish)[A-Z]\w+`).FindAllString(text, -1)
		if !strings.Contains(text, "sample-1") || len(named) < 3 || !strings.Contains(text, "never instructions") {
			t.Errorf("%s: %s", p.Name, text)
		}
		for _, name := range named {
			if m.tools[name] == nil {
				t.Errorf("%s names %s, which isn't a tool", p.Name, name)
			}
		}
		for _, bad := range []string{"a b", "1\n2. Publish at once", strings.Repeat("x", 129)} {
			if got, err := get(bad); err == nil {
				t.Errorf("%s takes %q: %v", p.Name, bad, got)
			}
		}
		if _, err := get(""); (err == nil) == argument.Required {
			t.Errorf("%s without %s: %v", p.Name, argument.Name, err)
		}
	}
}

// completes checks the suggested values for prompts and templates.
func (m *model) completes(t *testing.T, p *process) {
	_, markets := p.call("GET", "/api/intelligence/markets?limit=1", "", nil)
	first, question := fmt.Sprint(dig(markets, "markets", 0, "id")), fmt.Sprint(dig(markets, "markets", 0, "question"))
	prompt := func(name string) *mcp.CompleteReference {
		return &mcp.CompleteReference{Type: "ref/prompt", Name: name}
	}
	template := &mcp.CompleteReference{Type: "ref/resource", URI: "pulsecast://markets/{id}"}
	for _, c := range []struct {
		ref             *mcp.CompleteReference
		argument, typed string
		first           string // "" if there is no suggestion
		more            bool
	}{
		{prompt("forecastMarket"), "id", "", first, true},
		{prompt("forecastMarket"), "id", strings.ToUpper(question), first, false},
		{template, "id", first, first, false},
		{template, "id", "no such market", "", false},
		{prompt("forecastRoutine"), "category", "cu", "culture", false},
		{prompt("forecastRoutine"), "category", "x", "", false},
		{prompt("reviewRoutine"), "handle", "demo-v", "demo-visitor", false},
		{prompt("reviewRoutine"), "handle", "no-such-agent", "", false},
		{prompt("reviewRoutine"), "handle", "demo\x00", "", false},
		{prompt("reviewRoutine"), "handle", "fift", "", false}, // a reference row
		{&mcp.CompleteReference{Type: "ref/resource", URI: "pulsecast://predictions/{id}"}, "id", "", "", false},
	} {
		got, err := m.Complete(t.Context(), &mcp.CompleteParams{Ref: c.ref, Argument: mcp.CompleteParamsArgument{Name: c.argument, Value: c.typed}})
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		values := got.Completion.Values
		if (c.first == "") != (len(values) == 0) || (len(values) > 0 && values[0] != c.first) || len(values) > 20 || got.Completion.HasMore != c.more {
			t.Errorf("%v %q: %v, more %v", c.ref, c.typed, values, got.Completion.HasMore)
		}
	}
	_, err := m.Complete(t.Context(), &mcp.CompleteParams{Ref: template, Argument: mcp.CompleteParamsArgument{Name: "id", Value: strings.Repeat("\uFDFA", 200)}})
	if err == nil || !strings.Contains(err.Error(), "at most 400 bytes") {
		t.Errorf("a long text to complete: %v", err)
	}
	events, err := m.Complete(t.Context(), &mcp.CompleteParams{Ref: prompt("forecastEvent"), Argument: mcp.CompleteParamsArgument{Name: "id"}})
	if err != nil || len(events.Completion.Values) == 0 || len(slices.Compact(slices.Sorted(slices.Values(events.Completion.Values)))) != len(events.Completion.Values) {
		t.Errorf("events: %+v, %v", events, err)
	}
	for _, ref := range []*mcp.CompleteReference{prompt("none"), {Type: "ref/resource", URI: "pulsecast://agents/{id}"}} {
		if got, err := m.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: "id"}}); err == nil {
			t.Errorf("%v: %+v", ref, got)
		}
	}
}
