package components

import (
	"strings"
	"testing"
)

func TestSentence(t *testing.T) {
	t.Parallel()
	of := func(guess, low, high float64) Estimate { return Estimate{Skill: 0.9, Range: &Range{guess, low, high}} }
	for want, e := range map[string]Estimate{
		"Best guess: 1.2 points closer to the truth than the market per event; 95 % range −0.9 to +3.2":    of(1.1627, -.8691, 3.1945),
		"Best guess: 1.3 points further from the truth than the market per event; 95 % range −2.9 to +0.3": of(-1.3, -2.9, 0.3),
		"Best guess: as close to the truth as the market per event; 95 % range −1.0 to +1.0":               of(-0.01, -1, 1),
		"Best guess: 2.3 points closer to the truth than the market per event; 95 % range +0.02 to +4.6":   of(2.3, 0.02, 4.6),
		"No disagreement with the market yet": {Skill: 0.9},
	} {
		if got := e.Sentence(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestOdds(t *testing.T) {
	t.Parallel()
	for want, odds := range map[string]float64{
		"under 0.1 : 1": 0.0001, "0.1 : 1": 0.05, "0.4 : 1": 0.42, "0.9 : 1": 0.94, "1 : 1": 0.96, "3 : 1": 2.7389,
		"10 : 1": 9.9, "19 : 1": 19.99, "20 : 1": 20, "294 : 1": 294.53, "1,000,000 : 1": 1_000_000,
	} {
		if got := strings.ReplaceAll(Odds(odds), unbreakable, " "); got != want {
			t.Errorf("Odds(%v) = %q, want %q", odds, got, want)
		}
	}
}

func TestAbout(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{1: 1, 87: 87, 137: 140, 999: 1000, 1_249: 1_200, 999_999: 1_000_000} {
		if got := About(n); got != want {
			t.Errorf("About(%d) = %d, want %d", n, got, want)
		}
	}
}

// TestHistoryFrame checks that charts side by side share one frame, and that a band covers only the
// days with a range.
func TestHistoryFrame(t *testing.T) {
	t.Parallel()
	short := []SkillPoint{{Day: at(10), Estimate: Estimate{Skill: 1}}, {Day: at(11), Estimate: Estimate{Skill: 1, Range: &Range{1, -2, 4}}}}
	long := []SkillPoint{{Day: at(1), Estimate: Estimate{Skill: -9}}, {Day: at(21), Estimate: Estimate{Skill: 2}}}
	frame := FrameHistories(short, long)
	p := SkillPlot("a", "", frame, History{Points: short})
	if line := p.Lines[0].Spots; len(line) != 2 || len(p.Bands[0].Low) != 1 || line[0].X != 0.45 {
		t.Errorf("%+v", p)
	}
	if q := SkillPlot("b", "", frame, History{Points: long}); len(q.Rows) != len(p.Rows) || q.Rows[0] != p.Rows[0] || len(q.Bands[0].Low) != 0 {
		t.Errorf("rows %v and %v", p.Rows, q.Rows)
	}
}
