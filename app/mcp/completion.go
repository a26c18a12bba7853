package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/problem"
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

const (
	// maxCompletions is how many values one completion suggests. The protocol allows 100.
	maxCompletions = 20
	// maxTyped is the longest text that is completed, in bytes. Folding a long one takes seconds.
	maxTyped = 400
	// handlesTimeout bounds the query of a completion. The context of an MCP request never ends.
	handlesTimeout = 5 * time.Second
)

// complete suggests values for the argument of a prompt or the id of a resource template.
func (s *Server) complete(ctx context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	kind, err := kindOf(r.Params)
	if err != nil {
		return nil, err
	}
	if n := len(r.Params.Argument.Value); n > maxTyped {
		return nil, invalidParams("the value to complete must have at most %d bytes, not %d", maxTyped, n)
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
		return s.handles(ctx, typed)
	}
	return []string{}, nil
}

// handles suggests handles. It costs as much as one record of the API.
func (s *Server) handles(ctx context.Context, typed string) ([]string, error) {
	if plaintext.Check(typed, false) != "" {
		return []string{}, nil // no handle has such characters, and Postgres has no NUL
	}
	by, _ := ctx.Value(callerKey{}).(caller)
	admission, err := by.admit(httpserver.Lookup)
	if err != nil {
		return nil, told(err)
	}
	defer admission.Leave()
	ctx, cancel := context.WithTimeout(ctx, handlesTimeout)
	defer cancel()
	found, err := agent.Store{}.Handles(ctx, s.db.Reader, typed, maxCompletions+1)
	if err != nil {
		s.log.Error("mcp: a completion failed", "request_id", by.requestID, "error", err)
	}
	return found, told(err)
}

// told returns an error with the public text of err. The SDK sends the texts of errors to the client.
func told(err error) error {
	refused, ok := errors.AsType[*problem.Error](err)
	switch {
	case err == nil:
		return nil
	case !ok && (errors.Is(err, context.DeadlineExceeded) || httpserver.Unavailable(err)):
		refused = problem.Unavailable("Handles can't be read at the moment. Try again.", 0)
	case !ok:
		refused = problem.As(err)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: refused.Detail}
}

// fromMarkets suggests ids of open markets or of their events, highest volume first. The typed text is the
// beginning of the id or a part of the question.
func (s *Server) fromMarkets(typed string, id func(*market.Market) string) []string {
	snapshot, words, found := s.markets.Current(), plaintext.Fold(typed), []string{}
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
