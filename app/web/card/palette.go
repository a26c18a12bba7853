package card

import (
	"image"
	"image/color"
)

// shades is the number of steps in the smooth edge of a shape.
const shades = 16

// palette holds every colour of a card on each background, with the shades between them. A picture
// with a palette of at most 256 colours takes a third of the bytes.
var palette = func() color.Palette {
	p := color.Palette{background, surface, line}
	for _, c := range []color.RGBA{ink, muted, accent, positive, negative, warn} {
		for i := range shades {
			p = append(p, blend(c, background, float64(i+1)/shades))
		}
	}
	for _, c := range []color.RGBA{accent, positive} {
		p = append(p, blend(c, surface, 0.5))
		for i := range shades {
			p = append(p, blend(c, surface, float64(i+1)/shades))
		}
	}
	for i := range shades { // the sign is white on the accent
		p = append(p, blend(surface, accent, float64(i+1)/shades))
	}
	return p
}()

// blend mixes two colours. share is the part of a, 0..1; the rest is b.
func blend(a, b color.RGBA, share float64) color.RGBA {
	mix := func(a, b uint8) uint8 { return uint8(float64(a)*share + float64(b)*(1-share) + 0.5) }
	return color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xff}
}

// flat returns the drawing in the colours of the palette. Most neighbours have the same colour, so it is looked up
// only where the colour changes.
func flat(drawing *image.RGBA) *image.Paletted {
	out := image.NewPaletted(drawing.Bounds(), palette)
	known := map[color.RGBA]uint8{}
	var last color.RGBA
	var index uint8
	for i := range out.Pix {
		pixel := drawing.Pix[4*i : 4*i+3 : 4*i+3]
		if c := (color.RGBA{pixel[0], pixel[1], pixel[2], 0xff}); c != last {
			var ok bool
			if index, ok = known[c]; !ok {
				index = uint8(palette.Index(c))
				known[c] = index
			}
			last = c
		}
		out.Pix[i] = index
	}
	return out
}
