package card

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/vector"
)

// fonts are read once. A face of a font can serve only one drawing at a time.
var fonts = sync.OnceValues(func() (fonts struct{ regular, bold *opentype.Font }, err error) {
	if fonts.regular, err = opentype.Parse(goregular.TTF); err != nil {
		return fonts, fmt.Errorf("read font: %w", err)
	}
	if fonts.bold, err = opentype.Parse(gobold.TTF); err != nil {
		return fonts, fmt.Errorf("read font: %w", err)
	}
	return fonts, nil
})

// style is a text size in pixels and a weight.
type style struct {
	size float64
	bold bool
}

// The styles of a card. A pen has a face for each.
var (
	normal  = style{26, false}
	byline  = style{30, false}
	brand   = style{34, true}
	dense   = style{50, true}
	heading = style{60, true}
)

// pen draws one picture.
type pen struct {
	image *image.RGBA
	faces map[style]font.Face
}

func newPen() (*pen, error) {
	both, err := fonts()
	if err != nil {
		return nil, err
	}
	p := &pen{image: image.NewRGBA(image.Rect(0, 0, Width, Height)), faces: map[style]font.Face{}}
	for _, s := range []style{normal, byline, brand, dense, heading} {
		f := both.regular
		if s.bold {
			f = both.bold
		}
		if p.faces[s], err = opentype.NewFace(f, &opentype.FaceOptions{Size: s.size, DPI: 72, Hinting: font.HintingNone}); err != nil {
			return nil, fmt.Errorf("read font: %w", err)
		}
	}
	return p, nil
}

// width returns the width of a text in pixels.
func (p *pen) width(s string, st style) int {
	return font.MeasureString(p.faces[st], s).Ceil()
}

// has returns whether the font has a glyph for r.
func has(r rune) bool {
	both, err := fonts()
	if err != nil {
		return false
	}
	i, err := both.bold.GlyphIndex(new(sfnt.Buffer), r)
	return err == nil && i != 0
}

// fill draws a shape in a square of size pixels with its corner at x, y. path uses the square's
// coordinates.
func (p *pen) fill(x, y, size int, c color.Color, path func(*vector.Rasterizer)) {
	r := vector.NewRasterizer(size, size)
	path(r)
	r.Draw(p.image, image.Rect(x, y, x+size, y+size), image.NewUniform(c), image.Point{})
}

// disc draws a filled circle around x, y.
func (p *pen) disc(x, y, radius int, c color.Color) {
	p.fill(x-radius, y-radius, 2*radius, c, func(r *vector.Rasterizer) {
		circle(r, float32(radius), float32(radius), float32(radius))
	})
}

// circle adds a circle made of four curves to the path.
func circle(r *vector.Rasterizer, x, y, radius float32) {
	k := radius * 0.5523
	r.MoveTo(x+radius, y)
	r.CubeTo(x+radius, y+k, x+k, y+radius, x, y+radius)
	r.CubeTo(x-k, y+radius, x-radius, y+k, x-radius, y)
	r.CubeTo(x-radius, y-k, x-k, y-radius, x, y-radius)
	r.CubeTo(x+k, y-radius, x+radius, y-k, x+radius, y)
	r.ClosePath()
}

// mark draws the site's logo, as in favicon.svg, size pixels wide.
func (p *pen) mark(x, y, size int) {
	unit := float32(size) / 32
	p.fill(x, y, size, accent, func(r *vector.Rasterizer) {
		side, k := 32*unit, 7*unit
		r.MoveTo(k, 0)
		r.LineTo(side-k, 0)
		r.QuadTo(side, 0, side, k)
		r.LineTo(side, side-k)
		r.QuadTo(side, side, side-k, side)
		r.LineTo(k, side)
		r.QuadTo(0, side, 0, side-k)
		r.LineTo(0, k)
		r.QuadTo(0, 0, k, 0)
		r.ClosePath()
	})
	points := [][2]float32{{5, 18}, {10, 18}, {13.5, 9}, {18.5, 23}, {22, 14}}
	half := 1.3 * unit
	for i, to := range points {
		p.fill(x, y, size, surface, func(r *vector.Rasterizer) { circle(r, unit*to[0], unit*to[1], half) })
		if i == 0 {
			continue
		}
		from := points[i-1]
		p.fill(x, y, size, surface, func(r *vector.Rasterizer) {
			stroke(r, unit*from[0], unit*from[1], unit*to[0], unit*to[1], half)
		})
	}
	p.fill(x, y, size, surface, func(r *vector.Rasterizer) { circle(r, unit*25, unit*14, unit*2.4) })
}

// stroke draws a line. half is half its width.
func stroke(r *vector.Rasterizer, x0, y0, x1, y1, half float32) {
	dx, dy := x1-x0, y1-y0
	length := float32(math.Hypot(float64(dx), float64(dy)))
	nx, ny := -dy/length*half, dx/length*half
	r.MoveTo(x0+nx, y0+ny)
	r.LineTo(x1+nx, y1+ny)
	r.LineTo(x1-nx, y1-ny)
	r.LineTo(x0-nx, y0-ny)
	r.ClosePath()
}
