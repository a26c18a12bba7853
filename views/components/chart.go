package components

import (
	"math"
	"strings"
	"time"
)

// plane is the width and height of the inner drawing that holds the lines.
const plane = 1000

// Reference is a reference row, drawn as a line through every row of a forest plot.
type Reference struct {
	Name  string
	Skill float64
}

// Spot is a point in a chart. X and Y are shares of its width and height, from the lower left.
type Spot struct{ X, Y float64 }

func (s Spot) across() string { return number(s.X*100) + "%" }
func (s Spot) down() string   { return number((1-s.Y)*100) + "%" }

// path returns the d attribute of a line through spots in the inner drawing.
func path(spots []Spot) string {
	var b strings.Builder
	for i, s := range spots {
		if i == 0 {
			b.WriteByte('M')
		} else {
			b.WriteByte('L')
		}
		b.WriteString(number(s.X * plane))
		b.WriteByte(' ')
		b.WriteString(number((1 - s.Y) * plane))
	}
	return b.String()
}

// area returns the d attribute of the area between two lines.
func area(low, high []Spot) string {
	if len(low) == 0 {
		return ""
	}
	back := make([]Spot, len(low))
	for i, s := range low {
		back[len(low)-1-i] = s
	}
	return path(append(append([]Spot{}, high...), back...)) + "Z"
}

// Tick is a labelled position on an axis.
type Tick struct {
	At    float64 // position as a share of the axis
	Label string
	Zero  bool // this is the market's line
}

func (t Tick) anchor() string {
	switch {
	case t.At < 0.04:
		return "start"
	case t.At > 0.96:
		return "end"
	default:
		return "middle"
	}
}

// Line is a named line of a chart.
type Line struct {
	Name  string // "" if the chart has only one line
	Spots []Spot
}

// Band is the area between two lines.
type Band struct{ Low, High []Spot }

// Plot is a chart over time.
type Plot struct {
	ID      string // unique on its page
	Title   string // the text alternative: what is shown, and its main numbers
	Height  int    // height of the plotting area, in pixels
	Columns []Tick // time axis
	Rows    []Tick // value axis
	Lines   []Line // the style depends on the index
	Bands   []Band // drawn around the line with the same index
	Dots    []Dot
	Reading *Reading // nil if only the table gives the values
}

// span maps times to shares of the time axis.
type span struct{ from, to time.Time }

func (s span) share(at time.Time) float64 {
	whole := s.to.Sub(s.from)
	if whole <= 0 {
		return 1
	}
	return min(1, max(0, float64(at.Sub(s.from))/float64(whole)))
}

// ticks returns up to four dates at equal distances.
func (s span) ticks() []Tick {
	const n = 3
	format := "2 Jan"
	if s.to.Sub(s.from) < 3*24*time.Hour {
		format = "2 Jan 15:04"
	}
	var out []Tick
	for i := 0; i <= n; i++ {
		at := s.from.Add(s.to.Sub(s.from) * time.Duration(i) / n).UTC()
		label := at.Format(format)
		if len(out) > 0 && out[len(out)-1].Label == label {
			continue
		}
		out = append(out, Tick{At: float64(i) / n, Label: label})
	}
	return out
}

// PricePoint is a price observed at a time.
type PricePoint struct {
	At       time.Time
	Price    float64
	Bid, Ask *float64 // the book; nil if unknown
}

// PredictionMark is a mark for a prediction in a price chart.
type PredictionMark struct {
	At         time.Time
	Confidence float64
	Name       string // name of the agent
	Label      string // its probability, and when it was published
	Href       string
}

// PricePlot draws a price over time and marks the predictions made in that time.
func PricePlot(id, title string, prices []PricePoint, marks []PredictionMark) Plot {
	p := Plot{ID: id, Title: title, Height: 260}
	if len(prices) == 0 {
		return p
	}
	when := span{prices[0].At, prices[len(prices)-1].At}
	low, high := 1.0, 0.0
	for _, q := range prices {
		low, high = min(low, q.Price), max(high, q.Price)
	}
	for _, f := range marks {
		if f.At.Before(when.from) {
			when.from = f.At
		}
		if f.At.After(when.to) {
			when.to = f.At
		}
		low, high = min(low, f.Confidence), max(high, f.Confidence)
	}
	scale := probabilityScale(low, high)
	line := make([]Spot, len(prices))
	for i, q := range prices {
		line[i] = Spot{when.share(q.At), scale.Share(q.Price)}
	}
	p.Lines = []Line{{Spots: line}}
	for _, f := range marks {
		p.Dots = append(p.Dots, Dot{
			Spot: Spot{when.share(f.At), scale.Share(f.Confidence)}, Name: f.Name, Label: f.Label, Href: f.Href,
		})
	}
	nameDots(p.Dots, p.Height)
	p.Reading = readingOf(when, scale, percentUnit, prices[len(prices)-1].At, ExactPercent(prices[len(prices)-1].Price))
	p.Columns = when.ticks()
	for _, t := range scale.Ticks {
		p.Rows = append(p.Rows, Tick{At: scale.Share(t), Label: Percent(t)})
	}
	return p
}

// probabilityScale returns an axis that covers low..high, with round ends within 0..1 and at least
// 20 points wide.
func probabilityScale(low, high float64) Scale {
	if high-low < 0.2 {
		middle := (low + high) / 2
		low, high = middle-0.1, middle+0.1
	}
	step := roundStep((high - low) / 5)
	s := Scale{Low: max(0, math.Floor(low/step+1e-9)*step), High: min(1, math.Ceil(high/step-1e-9)*step)}
	for tick := s.Low; tick <= s.High+step/1000; tick += step {
		s.Ticks = append(s.Ticks, math.Round(tick*1e6)/1e6)
	}
	return s
}

// Trend returns the line of a thumbnail: values at equal distances, on a scale made for them.
func Trend(values []float64) []Spot {
	if len(values) < 2 {
		return nil
	}
	low, high := values[0], values[0]
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	out := make([]Spot, len(values))
	for i, v := range values {
		y := 0.5
		if high > low {
			y = (v - low) / (high - low)
		}
		out[i] = Spot{float64(i) / float64(len(values)-1), 0.08 + 0.84*y}
	}
	return out
}

// Bin is one calibration bin. The rates are nil in an empty bin.
type Bin struct {
	Low, High         float64
	Count             int
	MeanConfidence    float64
	ObservedRate      float64
	BandLow, BandHigh float64 // 90 % band
}

// radius grows with the square root of the bin's count.
func (b Bin) radius(most int) string {
	if most == 0 {
		return "3"
	}
	return number(3 + 5*math.Sqrt(float64(b.Count)/float64(most)))
}

// mostIn returns the largest count of the bins.
func mostIn(bins []Bin) int {
	most := 0
	for _, b := range bins {
		most = max(most, b.Count)
	}
	return most
}

// calibrationSide is the side of the calibration plot's drawing area in pixels. calibrationMargin is
// its margin to the left and below.
const (
	calibrationSide   = 300
	calibrationMargin = 34
)

func calibrationX(p float64) string { return number(calibrationMargin + p*calibrationSide) }
func calibrationY(p float64) string { return number(8 + (1-p)*calibrationSide) }

// thumbX and thumbY place a share in the calibration thumbnail, which is 40 by 40.
func thumbX(p float64) string { return number(p * 40) }
func thumbY(p float64) string { return number((1 - p) * 40) }
