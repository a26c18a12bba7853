package mcp

import (
	"context"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/market"
)

// kind is the kind of record that an argument names. It decides how typed text is completed.
type kind int

const (
	noKind kind = iota
	marketID
	eventID
	category
	handle
)

// maxCompletions is how many values one completion suggests. The protocol allows 100.
const maxCompletions = 20

// complete suggests values for the argument of a prompt or the id of a resource template.
func (s *Server) complete(ctx context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	kind, err := kindOf(r.Params)
	if err != nil {
		return nil, err
	}
	values, err := s.suggest(ctx, kind, strings.ToLower(strings.TrimSpace(r.Params.Argument.Value)))
	if err != nil {
		return nil, err
	}
	return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{
		Values: values[:min(len(values), maxCompletions)], HasMore: len(values) > maxCompletions,
	}}, nil
}

// kindOf returns the kind of the argument in a request.
func kindOf(p *sdk.CompleteParams) (kind, error) {
	for _, prompt := range prompts {
		if p.Ref.Type == "ref/prompt" && p.Ref.Name == prompt.name && p.Argument.Name == prompt.argument.name {
			return prompt.argument.kind, nil
		}
	}
	for _, record := range records {
		if p.Ref.Type == "ref/resource" && p.Ref.URI == record.template() && p.Argument.Name == "id" {
			return record.kind, nil
		}
	}
	return noKind, invalidParams("there is no argument %.64q of %.128q; prompts/list and resources/templates/list name all arguments",
		p.Argument.Name, p.Ref.Name+p.Ref.URI)
}

// suggest returns up to one value more than is shown, so that complete knows whether there are more.
func (s *Server) suggest(ctx context.Context, kind kind, typed string) ([]string, error) {
	switch kind {
	case marketID:
		return s.fromMarkets(typed, func(m *market.Market) string { return m.ID }), nil
	case eventID:
		return s.fromMarkets(typed, func(m *market.Market) string { return m.EventID }), nil
	case category:
		return slices.DeleteFunc(slices.Clone(market.Categories), func(c string) bool { return !strings.HasPrefix(c, typed) }), nil
	case handle:
		return agent.Store{}.Handles(ctx, s.db.Reader, typed, maxCompletions+1)
	}
	return []string{}, nil
}

// fromMarkets suggests ids of open markets or of their events, highest volume first. The typed text is the
// beginning of the id or a part of the question.
func (s *Server) fromMarkets(typed string, id func(*market.Market) string) []string {
	snapshot, words, found := s.markets.Current(), market.QuestionKey(typed), []string{}
	for i := range snapshot.Records {
		value := id(&snapshot.Records[i])
		fits := strings.HasPrefix(strings.ToLower(value), typed) || (words != "" && strings.Contains(snapshot.Text(i), words))
		if value != "" && fits && !slices.Contains(found, value) {
			found = append(found, value)
		}
		if len(found) > maxCompletions {
			break
		}
	}
	return found
}
