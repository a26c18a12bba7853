package card

import (
	"bytes"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"
)

func TestDrawable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"latin", "Will it rain in Łódź?", "Will it rain in Łódź?"},
		{"greek and cyrillic", "Αθήνα Москва", "Αθήνα Москва"},
		{"emoji dropped", "Rain 🌧️ or 👩\u200d🚀 shine", "Rain or shine"},
		{"white space folded", " a\n\tb ", "a b"},
		{"controls dropped", "a\u202eb\x00c", "abc"},
		{"hebrew", "האם ירד גשם", "instead"},
		{"arabic in part", "Will هل ستمطر السماء", "instead"},
		{"chinese", "明天会下雨吗", "instead"},
		{"emoji alone", "🌧️🌧️", "instead"},
		{"empty", "", "instead"},
		{"one odd letter in many", "Does ℵ belong to this rather long question?", "Does belong to this rather long question?"},
	} {
		if got := drawable(c.text, "instead"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestWrapKeepsInside(t *testing.T) {
	t.Parallel()
	p, err := newPen()
	if err != nil {
		t.Fatal(err)
	}
	const width = right - left
	for name, text := range map[string]string{
		"short": "Will it rain?", "long": strings.Repeat("Will it rain in Oslo before Friday? ", 20),
		"no spaces": strings.Repeat("W", 10_000), "a long word at the end": "Will " + strings.Repeat("m", 300),
	} {
		rows := p.wrap(drawable(text, ""), width, heading, 3)
		if len(rows) == 0 || len(rows) > 3 {
			t.Errorf("%s: %d lines", name, len(rows))
		}
		for _, row := range rows {
			if w := p.width(row, heading); w > width || row == "" {
				t.Errorf("%s: %q is %d px wide", name, row, w)
			}
		}
		if cut := strings.HasSuffix(rows[len(rows)-1], ellipsis); cut != (name != "short") {
			t.Errorf("%s ends in %q", name, rows[len(rows)-1])
		}
	}
}

// TestPNG checks that different cards give different pictures and that no picture touches the
// edges.
func TestPNG(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Wide ", 100)
	open := Card{
		Kicker: "Open prediction", Title: long, By: long, Sample: true, Bar: Bar{true, 1.5, -1},
		Figures: [MaxFigures]Figure{{"Agent says yes", "71 %", Accent}, {"Market then", "40 %", Plain}},
	}
	settled := open
	settled.Figures[2] = Figure{"Edge, in points", "+12.3", Good}
	agent := Card{Kicker: "AI forecaster", Title: "Ada", Intervals: [MaxIntervals]Interval{{"Ada", -12.1, 4, 18.6, true}}}
	agent.Figures = [MaxFigures]Figure{{"Rank, plausibly 1,200–9,800", "4,210", Plain}, {"True edge, 95 % range", "−12.1 to +18.6", Plain},
		{"Odds against no edge", "1,000,000 : 1", Good}}
	board := Card{Kicker: "Leaderboard", Title: "Can AI beat the market?"}
	for i := range board.Intervals {
		board.Intervals[i] = Interval{long, float64(i) - 9, float64(i) - 5, float64(i) + 1, i == 3}
	}
	var pictures [][]byte
	for name, c := range map[string]Card{
		"open": open, "settled": settled, "agent": agent, "board": board, "empty": {},
		"one interval of no length": {Intervals: [MaxIntervals]Interval{{Name: "A"}}},
		"a title of another script": {Title: "明天会下雨吗", Fallback: "A prediction by ada"},
	} {
		picture, err := c.PNG()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, _ := c.PNG()
		if !bytes.Equal(picture, again) {
			t.Errorf("%s: a second drawing of the same card differs", name)
		}
		if slices.ContainsFunc(pictures, func(p []byte) bool { return bytes.Equal(p, picture) }) {
			t.Errorf("%s looks like another", name)
		}
		pictures = append(pictures, picture)
		if len(picture) > 40<<10 {
			t.Errorf("%s has %d bytes", name, len(picture))
		}
		img, err := png.Decode(bytes.NewReader(picture))
		if err != nil || img.Bounds() != image.Rect(0, 0, Width, Height) {
			t.Fatalf("%s: %v, %v", name, img.Bounds(), err)
		}
		for y := 12; y < Height; y++ {
			for _, x := range []int{0, left / 2, Width - left/2, Width - 1} {
				if img.At(x, y) != img.At(0, Height-1) {
					t.Fatalf("%s: something is drawn at %d, %d", name, x, y)
				}
			}
		}
	}
}

func BenchmarkPNG(b *testing.B) {
	c := Card{Kicker: "Open prediction", Title: "Will it rain in Oslo before Friday?", Figures: [MaxFigures]Figure{{"Agent says yes", "71 %", Accent}}}
	for b.Loop() {
		if _, err := c.PNG(); err != nil {
			b.Fatal(err)
		}
	}
}
