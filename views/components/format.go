package components

import (
	"strconv"
	"strings"
	"time"
)

// unbreakable joins a number and its unit; minus is as wide as a plus.
const (
	unbreakable = "\u00a0"
	minus       = "−"
)

// Percent writes a probability of 0..1 in whole percent. Close to 0 and 1 it uses one decimal, so
// that 0.4 % doesn't read as never. A value that would round to certainty is written as a bound,
// such as >99.9 %.
func Percent(p float64) string {
	switch {
	case p > 0 && p < 0.0005:
		return "<0.1" + unbreakable + "%"
	case p > 0.9994999 && p < 1:
		return ">99.9" + unbreakable + "%"
	}
	digits := 0
	if (p > 0 && p < 0.01) || (p > 0.99 && p < 1) {
		digits = 1
	}
	return Decimal(p*100, digits) + unbreakable + "%"
}

// ExactPercent writes a probability of 0..1 in percent with up to two decimals.
func ExactPercent(p float64) string {
	return trimmed(p*100, 2) + unbreakable + "%"
}

// Fraction writes a probability of 0..1 as a fraction with two to four decimals, as needed: 0.70,
// 0.655.
func Fraction(p float64) string {
	text := trimmed(p, 4)
	whole, rest, _ := strings.Cut(text, ".")
	for len(rest) < 2 {
		rest += "0"
	}
	return whole + "." + rest
}

// Decimal writes a number with a fixed count of decimals and a true minus sign. A value that rounds
// to zero has no sign.
func Decimal(v float64, digits int) string {
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		if strings.Trim(rest, "0.") == "" {
			return rest
		}
		return minus + rest
	}
	return text
}

// Signed is like Decimal, with a plus sign before positive values.
func Signed(v float64, digits int) string {
	text := Decimal(v, digits)
	if !strings.HasPrefix(text, minus) && strings.Trim(text, "0.") != "" {
		return "+" + text
	}
	return text
}

// Points writes an edge with up to two decimals and its sign.
func Points(v float64) string {
	text := strings.TrimPrefix(trimmed(v, 2), minus)
	switch {
	case text == "0":
		return text
	case v < 0:
		return minus + text
	default:
		return "+" + text
	}
}

func trimmed(v float64, digits int) string {
	text := Decimal(v, digits)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// Brier writes a Brier score with three decimals.
func Brier(v float64) string { return Decimal(v, 3) }

// Count writes a whole number with separated thousands.
func Count(n int) string {
	text := strconv.Itoa(n)
	digits, sign := strings.CutPrefix(text, "-")
	var b strings.Builder
	for i, r := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	if sign {
		return minus + b.String()
	}
	return b.String()
}

// Plural writes a count with its noun: 1 event, 2 events, 1,200 events.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1" + unbreakable + one
	}
	return Count(n) + unbreakable + many
}

// Dollars writes an amount of money in a short form: $940, $12.3k, $4.1M.
func Dollars(v float64) string {
	switch {
	case v >= 999_500_000:
		return "$" + trimmed(v/1e9, 1) + "B"
	case v >= 999_950:
		return "$" + trimmed(v/1e6, 1) + "M"
	case v >= 1000:
		return "$" + trimmed(v/1e3, 1) + "k"
	default:
		return "$" + Decimal(v, 0)
	}
}

// Capital returns a label with a capital first letter.
func Capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// When is a time and the current time that it is compared with.
type When struct{ At, Now time.Time }

// Known returns whether the time is set.
func (w When) Known() bool { return !w.At.IsZero() }

// Past returns whether the time is set and in the past.
func (w When) Past() bool { return w.Known() && w.At.Before(w.Now) }

// Exact returns the time in UTC to the second, for a tooltip.
func (w When) Exact() string { return w.At.UTC().Format("2 January 2006, 15:04:05 UTC") }

// Machine returns the time for the datetime attribute.
func (w When) Machine() string { return w.At.UTC().Format(time.RFC3339) }

// Far returns whether the time is so far away that Relative returns its date.
func (w When) Far() bool { return w.Now.Sub(w.At).Abs() > 60*24*time.Hour }

// Relative returns the distance in the largest suitable unit, such as "3 hours ago" or "in 5 days".
// Beyond two months it returns the date.
func (w When) Relative() string {
	d := w.Now.Sub(w.At)
	if w.Far() {
		return w.At.UTC().Format("2 Jan 2006")
	}
	text := distance(d.Abs())
	switch {
	case text == "" && d < -5*time.Second:
		return "in a moment"
	case text == "":
		return "just now"
	case d < 0:
		return "in " + text
	default:
		return text + " ago"
	}
}

func distance(d time.Duration) string {
	switch {
	case d < 45*time.Second:
		return ""
	case d < time.Hour:
		return plainPlural(max(1, d.Round(time.Minute)/time.Minute), "minute")
	case d < 36*time.Hour:
		return plainPlural(d.Round(time.Hour)/time.Hour, "hour")
	default:
		return plainPlural((d+12*time.Hour)/(24*time.Hour), "day")
	}
}

func plainPlural(n time.Duration, unit string) string {
	text := strconv.Itoa(int(n)) + " " + unit
	if n != 1 {
		text += "s"
	}
	return text
}
