package market_test

import (
	"testing"

	"github.com/pulsecast/pulsecast/app/market"
)

// TestQuestionKey checks that the texts of each line have one key, and that no two lines share one.
func TestQuestionKey(t *testing.T) {
	t.Parallel()
	lines := map[string]string{} // the first text of the line, by key
	for _, line := range [][]string{
		{"Will it rain, in Oslo?", "WILL it rain in Oslo", "Will it “rain” in Oslo…"},
		{"Will X—win?", "Will X win", "will x - win!"},
		{"Will growth be >3%?", "Will growth be > 3 %?", "will growth be ＞3％"},
		{"Will growth be <3%?"}, {"Will growth be ≥3%?"}, {"Will growth be ≤3%?"}, {"Will growth be 3%?"}, {"Will growth be 3?"},
		{"Will growth be +3%?"}, {"Will growth be -3%?", "Will growth be −3%?", "Will growth be –3%?", "Will growth be (-3%)?"},
		{"Will growth be 3+%?"},
		{"Will it hit 5?"}, {"Will it hit $5?"}, {"Will it hit -$5?"}, {"Will it hit €5?"}, {"Will it hit ↑5?"}, {"Will it hit ↓5?"},
		{"Will it hit .5?"}, {"Will it hit 0.5?"}, {"Will it hit 1.5?"}, {"Will it hit 1-5?", "Will it hit 1–5?"}, {"Will it hit 1 5?"},
		{"Will it hit 1,500?"}, {"Will it hit 1.500?"}, {"Will it be 1/2?"}, {"Will it be 1 2?"},
		{"Will COVID-19 end?", "Will COVID 19 end?"},
		{"Will it be -1°C?"}, {"Will it be 1°C?"},
		{"", "?!"},
	} {
		key := market.QuestionKey(line[0])
		if other, taken := lines[key]; taken {
			t.Errorf("%q and %q have the key %q", other, line[0], key)
		}
		lines[key] = line[0]
		for _, text := range line[1:] {
			if got := market.QuestionKey(text); got != key {
				t.Errorf("%q: got the key %q, want %q", text, got, key)
			}
		}
	}
}
