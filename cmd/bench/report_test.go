package main

import (
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

func rates(values ...float64) series { return series{name: "x", unit: perSecond, values: values} }

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 2, 3}, 2.5}} {
		if got := rates(c.values...).median(); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.values, got, c.want)
		}
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for value, want := range map[float64]string{
		0.0294: "0.029", 0.2949: "0.29", 9.994: "9.99", 12.34: "12.3", 100: "100", 1234.4: "1,234", 1234567: "1,234,567",
	} {
		if got := number(value); got != want {
			t.Errorf("number(%v) = %q, want %q", value, got, want)
		}
	}
}

// TestRatioIsOfEachRound checks that ratios are computed per round. The ratio of the medians would
// be 1.
func TestRatioIsOfEachRound(t *testing.T) {
	t.Parallel()
	ratio := rates(10, 20, 60).over(rates(20, 10, 60))
	if got, want := ratio.spread(), "1.00 (0.50..2.00)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	fast, slow := rates(90, 90, 90), rates(10, 10, 10)
	rows := []row{
		{what: "above", ours: fast, reference: slow, target: atLeast(9)},
		{what: "below", ours: fast, reference: slow, target: atLeast(9.1)},
		{what: "slower", ours: fast, reference: slow, target: atMost(1.5)},
		{what: "absolute", ours: slow, target: atMost(10)},
		{what: "too much", ours: fast, target: atMost(10)},
		{what: "either 1", ours: slow, reference: fast, target: atLeast(1), either: "e"},
		{what: "either 2", ours: fast, reference: slow, target: atLeast(1), either: "e"},
		{what: "other pair", ours: slow, reference: fast, target: atLeast(1), either: "f"},
		{what: "failed", ours: fast, reference: slow, target: atLeast(1), failed: "why"},
	}
	want := []string{"yes", "**no**", "**no**", "yes", "**no**", "by the other", "yes", "**no**", "no: why"}
	for i, r := range rows {
		if got := verdict(r, rows); got != want[i] {
			t.Errorf("%s: %q, want %q", r.what, got, want[i])
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	got := table([]row{
		{what: "publish", ours: rates(4000, 5000, 6000), reference: series{"pgbench", perSecond, []float64{10000, 10000, 10000}}, target: atLeast(.3, ", aim 0.5")},
		{what: "p99", ours: series{unit: inMilliseconds, values: []float64{3.21, 4, 25}}, target: atMost(20)},
		{what: "memory", ours: series{unit: inMebibytes, values: []float64{151}}, target: atMost(150)},
	})
	want := `| what    | ours                 | reference         | ratio (min..max)  | target         | reached |
|---------|----------------------|-------------------|-------------------|----------------|---------|
| publish | 5,000/s              | pgbench: 10,000/s | 0.50 (0.40..0.60) | ≥ 0.3, aim 0.5 | yes     |
| p99     | 4.00 (3.21..25.0) ms |                   |                   | ≤ 20 ms        | yes     |
| memory  | 151 MiB              |                   |                   | ≤ 150 MiB      | **no**  |
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDocumentNamesTheMachine(t *testing.T) {
	t.Parallel()
	text, err := document(about{Machine: run.Machine{CPU: "Some CPU", Cores: 2, Commit: "abc", Date: "2026-11-22"}, Crowd: "100,000"}, []row{
		{what: "first", ours: rates(2), reference: rates(1), target: atLeast(1)},
		{what: "second", ours: rates(1), reference: rates(2), target: atLeast(1)},
	}, []row{{what: "third", ours: rates(9), reference: named("the least", rates(10))}})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"1 of 2 rows reach their target", "| first ", "Some CPU, 2 cores", "| Commit | abc |", "100,000 more", "| third | 9.00/s | the least: 10.0/s | 0.90"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the document doesn't contain %q", part)
		}
	}
}
