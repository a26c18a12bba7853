package api

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
)

// TestRefusalsHaveNoFollowUps checks that a refused field isn't also reported as missing, nor what only its absence
// would require.
func TestRefusalsHaveNoFollowUps(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string][]string{
		`{"marketId":111}`:                                    {"marketId"},
		`{"market_id":"m"}`:                                   {"market_id"},
		`{"marketId":111,"title":""}`:                         {"marketId", "title"},
		`{"marketId":111,"horizonAt":"x"}`:                    {"horizonAt", "marketId"},
		`{"Title":"t"}`:                                       {"Title", "horizonAt"},
		`{"Title":"t","title":"\n"}`:                          {"title", "Title", "horizonAt"},
		`{"marketId":"m","thesis":null}`:                      {"thesis"},
		`{"marketId":"m","Confidence":0.5,"confidence":null}`: {"Confidence"},
		`{"marketId":"m","Confidence":0.5,"confidence":7}`:    {"Confidence", "confidence"},
		`{"marketId":"m","evidence":[{"title":"a","Url":"https://example.org/"},{"title":"b"}]}`: {"evidence[0].Url", "evidence[1].url"},
		`{}`: {"title", "horizonAt"},
	} {
		fields := map[string]json.RawMessage{"thesis": json.RawMessage(`"t"`), "confidence": json.RawMessage(`0.5`)}
		if err := json.Unmarshal([]byte(sent), &fields); err != nil {
			t.Fatal(err)
		}
		body := &object{fields: fields, read: map[string]bool{}}
		draft, _, _ := readDraft(body)
		var got []string
		for _, f := range checkDraft(body, &draft, time.Now()) {
			got = append(got, f.Field)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", sent, got, want)
		}
	}
}
