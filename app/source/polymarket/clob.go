package polymarket

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/fetch"
	"github.com/pulsecast/pulsecast/app/source/lenientjson"
)

type wireBook struct {
	ConditionID lenientjson.Text            `json:"condition_id"`
	Tokens      lenientjson.Each[wireToken] `json:"tokens"`
}

type wireToken struct {
	TokenID lenientjson.Text `json:"token_id"`
	Outcome lenientjson.Text `json:"outcome"`
	Winner  lenientjson.Flag `json:"winner"`
}

// Winner asks the order book which outcome of m won. ok is false if the book names no single winner or doesn't
// know the market.
func (c *Client) Winner(ctx context.Context, m *market.Market) (outcome int, ok bool, err error) {
	if m.ConditionID == "" {
		return 0, false, nil
	}
	var book wireBook
	address := c.clob + "/markets/" + url.PathEscape(m.ConditionID)
	if _, err := c.fetch.JSON(ctx, fetch.Request{URL: address}, &book); err != nil {
		if source.Reason(err) == "http_404" {
			return 0, false, nil
		}
		return 0, false, err
	}
	// A response about another market must never settle this one.
	if book.ConditionID != "" && !strings.EqualFold(string(book.ConditionID), m.ConditionID) {
		return 0, false, &source.Error{
			Reason: "parse", Err: fmt.Errorf("clob: asked for market %s, got %s", m.ConditionID, book.ConditionID),
		}
	}
	outcome, ok = winner(book.Tokens, m)
	return outcome, ok, nil
}

// winner returns the outcome of the only winning token. It matches by the outcome's name, else by the token's
// id.
func winner(tokens []wireToken, m *market.Market) (int, bool) {
	tokens = slices.DeleteFunc(slices.Clone(tokens), func(t wireToken) bool { return !t.Winner.True })
	if len(tokens) != 1 {
		return 0, false
	}
	i := m.OutcomeIndex(name(tokens[0].Outcome))
	if id := string(tokens[0].TokenID); i < 0 && id != "" && len(m.TokenIDs) == len(m.Outcomes) {
		i = slices.Index(m.TokenIDs, id)
	}
	return max(i, 0), i >= 0
}
