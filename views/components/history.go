package components

import "time"

// SkillPoint is an estimate as of a day.
type SkillPoint struct {
	Day time.Time
	Estimate
	Events int
}

// HistoryFrame is the common drawing area of histories, so that charts side by side can be
// compared. It covers all days, every skill, and the ranges of the later half of each history. The
// first ranges are too wide to include: they would flatten the rest.
type HistoryFrame struct {
	days  span
	scale Scale
}

// FrameHistories returns the frame that holds all the histories.
func FrameHistories(histories ...[]SkillPoint) HistoryFrame {
	var f HistoryFrame
	var estimates []Estimate
	for _, h := range histories {
		for i, p := range h {
			if f.days.from.IsZero() || p.Day.Before(f.days.from) {
				f.days.from = p.Day
			}
			if p.Day.After(f.days.to) {
				f.days.to = p.Day
			}
			if i < len(h)/2 {
				p.Range = nil
			}
			estimates = append(estimates, p.Estimate)
		}
	}
	f.scale = EstimateScale(estimates)
	return f
}

// History is an agent's estimates over time.
type History struct {
	Name   string
	Points []SkillPoint
}

// SkillPlot draws the skill of agents over time around the market's line, with the ranges of their
// true edges. A band begins with the first day that has a range and is cut off at the frame.
func SkillPlot(id, title string, f HistoryFrame, histories ...History) Plot {
	p := Plot{ID: id, Title: title, Height: 220}
	for _, h := range histories {
		line, band := Line{Name: h.Name}, Band{}
		for _, x := range h.Points {
			day := f.days.share(x.Day)
			line.Spots = append(line.Spots, Spot{day, f.scale.Share(x.Skill)})
			if x.Range != nil {
				band.Low = append(band.Low, Spot{day, f.scale.Share(x.Range.Low)})
				band.High = append(band.High, Spot{day, f.scale.Share(x.Range.High)})
			}
		}
		p.Lines, p.Bands = append(p.Lines, line), append(p.Bands, band)
	}
	p.Columns = f.days.ticks()
	for _, t := range f.scale.Ticks {
		label := Points(t)
		if t == 0 {
			label = "Market"
		}
		p.Rows = append(p.Rows, Tick{At: f.scale.Share(t), Label: label, Zero: t == 0})
	}
	return p
}
