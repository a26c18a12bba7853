// Package card draws the picture of a shared link: 1200 × 630, PNG, in the colours of the site's
// light theme. It can draw Latin, Greek and Cyrillic letters. Text in other scripts is left out
// (see text.go).
package card

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"

	"golang.org/x/image/font"
	"golang.org/x/image/math/fixed"
)

// Size of the picture in pixels. Every social network shows a picture of this shape uncropped.
const (
	Width  = 1200
	Height = 630
)

// Tone is the colour of a figure. The figure's words say the same, so no meaning depends on colour.
type Tone int

// The tones.
const (
	Plain Tone = iota
	Accent
	Good
	Bad
)

// Figure is one number with its label.
type Figure struct {
	Label, Value string
	Tone         Tone
}

// Interval is an agent on the common scale of a card. Low and High bound its true edge and Mid is
// its skill. Without a range all three are the skill.
type Interval struct {
	Name           string
	Low, Mid, High float64
	Proven         bool
}

// The most figures and intervals that fit on a card.
const (
	MaxFigures   = 4
	MaxIntervals = 7
)

// Card is the content of a picture. Equal cards give the same picture, so a Card is also a cache
// key.
type Card struct {
	Kicker    string // kind of page, shown above the title
	Title     string
	Fallback  string // shown if the title can't be drawn
	By        string // shown below the title
	Figures   [MaxFigures]Figure
	Bar       Bar
	Intervals [MaxIntervals]Interval
	Sample    bool
}

// Bar compares the agent's probability with the market's, both 0..1. A negative Agent means that
// the agent has none.
type Bar struct {
	Shown         bool
	Agent, Market float64
}

var (
	background = color.RGBA{0xf7, 0xf7, 0xf4, 0xff}
	surface    = color.RGBA{0xff, 0xff, 0xff, 0xff}
	line       = color.RGBA{0xdd, 0xdc, 0xd6, 0xff}
	ink        = color.RGBA{0x1b, 0x1d, 0x21, 0xff}
	muted      = color.RGBA{0x5c, 0x61, 0x6b, 0xff}
	accent     = color.RGBA{0x1f, 0x5f, 0xb8, 0xff}
	positive   = color.RGBA{0x17, 0x70, 0x4a, 0xff}
	negative   = color.RGBA{0xb3, 0x30, 0x3a, 0xff}
	warn       = color.RGBA{0x8a, 0x53, 0x00, 0xff}
)

func (t Tone) color() color.RGBA {
	return [...]color.RGBA{Plain: ink, Accent: accent, Good: positive, Bad: negative}[t]
}

// Edges of the drawing area.
const (
	left   = 72
	right  = Width - 72
	bottom = Height - 64
)

// PNG draws the card.
func (c Card) PNG() ([]byte, error) {
	p, err := newPen()
	if err != nil {
		return nil, err
	}
	p.rect(0, 0, Width, Height, background)
	p.rect(0, 0, Width, 12, accent)
	c.head(p)
	switch {
	case c.Intervals != [MaxIntervals]Interval{}:
		c.plot(p, c.title(p, 1)+28)
	default:
		c.title(p, 3)
	}
	c.foot(p)
	var out bytes.Buffer
	if err := png.Encode(&out, flat(p.image)); err != nil {
		return nil, fmt.Errorf("encode card: %w", err)
	}
	return out.Bytes(), nil
}

// head draws the brand and the kicker.
func (c Card) head(p *pen) {
	p.mark(left, 52, 52)
	p.text("Pulsecast", left+68, 90, brand, ink)
	x := right
	if c.Sample {
		x = p.textLeftOf("sample data", right, 88, normal, warn) - 24
	}
	p.textLeftOf(drawable(c.Kicker, ""), x, 88, normal, muted)
}

// title writes the title and the line below it. It returns where they end.
func (c Card) title(p *pen, lines int) (y int) {
	title, style := drawable(c.Title, c.Fallback), heading
	rows := p.wrap(title, right-left, style, lines)
	if len(rows) > 2 {
		style = dense
		rows = p.wrap(title, right-left, style, lines)
	}
	y = 150
	for _, row := range rows {
		y += int(style.size * 1.18)
		p.text(row, left, y, style, ink)
	}
	if by := drawable(c.By, ""); by != "" {
		y += 50
		p.text(p.cut(by, right-left, byline), left, y, byline, muted)
	}
	return y
}

// foot draws the bar and the figures at the bottom.
func (c Card) foot(p *pen) {
	if c.Figures[0].Value == "" {
		return
	}
	if c.Bar.Shown {
		c.bar(p, bottom-140)
	}
	values := c.figureStyle(p)
	x := left
	for _, f := range c.Figures {
		if f.Value == "" {
			continue
		}
		p.text(f.Label, x, bottom-66, normal, muted)
		p.text(f.Value, x, bottom, values, f.Tone.color())
		x += f.width(p, values) + figureGap
	}
}

// figureGap is the least distance between two figures, in pixels.
const figureGap = 48

func (f Figure) width(p *pen, values style) int {
	return max(p.width(f.Label, normal), p.width(f.Value, values))
}

// figureStyle returns the largest style in which all figures fit on one line, else the smallest
// style.
func (c Card) figureStyle(p *pen) style {
	styles := []style{heading, dense, brand}
	for _, s := range styles {
		end := left - figureGap
		for _, f := range c.Figures {
			if f.Value != "" {
				end += f.width(p, s) + figureGap
			}
		}
		if end <= right {
			return s
		}
	}
	return styles[len(styles)-1]
}

// bar draws the market's probability as a bar and the agent's as a mark on it.
func (c Card) bar(p *pen, y int) {
	const height = 16
	p.rect(left, y, right, y+height, line)
	at := func(share float64) int { return left + int(min(1, max(0, share))*float64(right-left)) }
	p.rect(left, y, at(c.Bar.Market), y+height, muted)
	if c.Bar.Agent < 0 {
		return
	}
	x := at(c.Bar.Agent)
	p.rect(x-8, y-14, x+8, y+height+14, background)
	p.rect(x-5, y-14, x+5, y+height+14, accent)
}

// plot draws the intervals around the market's line.
func (c Card) plot(p *pen, y int) {
	low, high, count := 0.0, 0.0, 0
	for _, i := range c.Intervals {
		if i.Name != "" {
			low, high, count = min(low, i.Low, i.Mid), max(high, i.High, i.Mid), count+1
		}
	}
	if high <= low {
		low, high = -1, 1
	}
	margin := (high - low) / 20
	low, high = low-margin, high+margin
	names := left
	if count > 1 {
		names = left + 330
	}
	end := bottom
	if c.Figures[0].Value != "" {
		end = bottom - 120
	}
	at := func(v float64) int {
		return names + int((v-low)/(high-low)*float64(right-names))
	}
	row := min(54, (end-y-28)/count)
	zero := at(0)
	p.rect(names, y, right, y+row*count, surface)
	p.rect(zero-2, y-6, zero+2, y+row*count+6, ink)
	p.textAround("Market", zero, y+row*count+34, normal, muted)
	for n, i := range c.Intervals[:] {
		if i.Name == "" {
			continue
		}
		middle := y + row*n + row/2
		if count > 1 {
			p.text(p.cut(drawable(i.Name, "an agent"), names-left-20, normal), left, middle+9, normal, ink)
		}
		tone := accent
		if i.Proven {
			tone = positive
		}
		p.rect(at(i.Low), middle-4, at(i.High), middle+4, blend(tone, surface, 0.5))
		p.disc(at(i.Mid), middle, 11, tone)
	}
}

func (p *pen) rect(x0, y0, x1, y1 int, c color.Color) {
	draw.Draw(p.image, image.Rect(x0, y0, x1, y1), image.NewUniform(c), image.Point{}, draw.Src)
}

// textLeftOf writes a text that ends at x and returns where it starts.
func (p *pen) textLeftOf(s string, x, y int, st style, c color.Color) int {
	start := x - p.width(s, st)
	p.text(s, start, y, st, c)
	return start
}

// textAround writes a text centred at x, moved if needed to stay within the edges.
func (p *pen) textAround(s string, x, y int, st style, c color.Color) {
	w := p.width(s, st)
	p.text(s, min(right-w, max(left, x-w/2)), y, st, c)
}

func (p *pen) text(s string, x, y int, st style, c color.Color) {
	d := font.Drawer{Dst: p.image, Src: image.NewUniform(c), Face: p.faces[st], Dot: fixed.P(x, y)}
	d.DrawString(s)
}
