package components

import "testing"

// TestNameDots checks that names stand beside their dots where there is room, and cover neither
// dots nor other names.
func TestNameDots(t *testing.T) {
	t.Parallel()
	dots := []Dot{
		{Spot: Spot{0.5, 0.5}, Name: "Ada"},
		{Spot: Spot{0.53, 0.5}, Name: "Grace"},   // at the position of Ada's name
		{Spot: Spot{0.52, 0.52}, Name: "Hopper"}, // between both dots
		{Spot: Spot{0.99, 0.9}, Name: "At the end"},
		{Spot: Spot{0.01, 0.1}, Name: "At the start"},
		{Spot: Spot{0.3, 0.3}},
	}
	nameDots(dots, 260)
	want := []string{"end", "start", "", "end", "start", ""}
	for i, d := range dots {
		if d.Anchor != want[i] {
			t.Errorf("name of %q has the anchor %q, want %q", d.Name, d.Anchor, want[i])
		}
	}
	many := make([]Dot, 20)
	for i := range many {
		many[i] = Dot{Spot: Spot{0.5, float64(i) / 20}, Name: "x"}
	}
	nameDots(many, 2000)
	named := 0
	for _, d := range many {
		if d.Anchor != "" {
			named++
		}
	}
	if named != maxNames {
		t.Errorf("%d dots are named", named)
	}
}
