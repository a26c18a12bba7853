package components

import "unicode/utf8"

// Dot is a mark in a chart with a link.
type Dot struct {
	Spot
	Name   string // name of the agent
	Label  string // accessible name
	Href   string
	Anchor string // SVG text anchor of the name, which sets its side; "" to leave the name out
}

// nameOffset returns the distance of the name from its dot, in pixels.
func (d Dot) nameOffset() string {
	if d.Anchor == "end" {
		return "-9"
	}
	return "9"
}

const (
	// namesWidth is the width of the narrowest chart that shows names, in pixels. The stylesheet
	// hides names in narrower charts.
	namesWidth = 850
	// nameHeight and nameLetter are the height of a name and the width of one letter, in pixels.
	nameHeight = 14
	nameLetter = 6.5
	// maxNames is the greatest number of named dots. More would be illegible.
	maxNames = 8
)

// box is an area of a chart in pixels.
type box struct{ left, right, top, bottom float64 }

func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

// nameDots names the dots that have room for it: to the right of the dot, else to the left. Earlier
// dots take precedence. The other dots show their names on hover.
func nameDots(dots []Dot, height int) {
	taken := make([]box, len(dots))
	for i, d := range dots {
		x, y := d.X*namesWidth, (1-d.Y)*float64(height)
		taken[i] = box{x - 7, x + 7, y - 7, y + 7}
	}
	named := 0
	for i := range dots {
		if named == maxNames {
			return
		}
		if place, anchor := roomFor(dots[i], float64(height), taken); anchor != "" {
			dots[i].Anchor = anchor
			taken, named = append(taken, place), named+1
		}
	}
}

// roomFor returns where the name of a dot fits. anchor is "" if it fits nowhere.
func roomFor(d Dot, height float64, taken []box) (place box, anchor string) {
	width := nameLetter * float64(utf8.RuneCountInString(d.Name))
	x, y := d.X*namesWidth, (1-d.Y)*height
	for _, anchor := range []string{"start", "end"} {
		place := box{x + 9, x + 9 + width, y - nameHeight/2, y + nameHeight/2}
		if anchor == "end" {
			place.left, place.right = x-9-width, x-9
		}
		if width > 0 && place.left >= 0 && place.right <= namesWidth && !meetsAny(place, taken) {
			return place, anchor
		}
	}
	return box{}, ""
}

func meetsAny(b box, taken []box) bool {
	for _, o := range taken {
		if b.meets(o) {
			return true
		}
	}
	return false
}
