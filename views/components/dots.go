package components

import "unicode/utf8"

// Dot is a marked place in a chart that leads somewhere.
type Dot struct {
	Spot
	Name   string // whose it is
	Label  string // what it says
	Href   string
	Anchor string // on which side its name is written, as an SVG text anchor; "" without one
}

// nameOffset keeps the name clear of its dot, in pixels.
func (d Dot) nameOffset() string {
	if d.Anchor == "end" {
		return "-9"
	}
	return "9"
}

const (
	// namesWidth is the width of the narrowest chart that shows names, in pixels. The
	// stylesheet hides them on narrower ones.
	namesWidth = 850
	// nameHeight and nameLetter are the size of a written name and of one letter of it.
	nameHeight = 14
	nameLetter = 6.5
	// maxNames is how many dots are named: more can't be read.
	maxNames = 8
)

// box is a part of a chart in pixels.
type box struct{ left, right, top, bottom float64 }

func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

// nameDots gives names to the dots that have room for one: right of the dot, else left of it.
// The first dots come first. The other dots say their names when they are pointed at.
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

// roomFor finds where the name of a dot fits; anchor is "" if nowhere.
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
