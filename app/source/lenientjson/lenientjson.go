// Package lenientjson decodes JSON values that upstreams write in several ways: numbers as strings, lists as
// strings that contain JSON, missing or null values. A value that can't be decoded counts as absent. It never
// makes the record around it fail.
package lenientjson

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// Text is a string, or a number as written in the JSON. Null and anything else give "".
type Text string

// UnmarshalJSON never fails.
func (t *Text) UnmarshalJSON(raw []byte) error {
	*t = Text(scalar(raw))
	return nil
}

// Number is an integer, a float, or a string with either. Known is false if there is no finite number in the
// range of float64.
type Number struct {
	Value float64
	Known bool
}

// UnmarshalJSON never fails.
func (n *Number) UnmarshalJSON(raw []byte) error {
	value, ok := ParseNumber(scalar(raw))
	*n = Number{Value: value, Known: ok}
	return nil
}

// Count returns the number as a whole one within 32 bits, or 0 if it is unknown.
func (n Number) Count() int { return int(min(max(n.Value, -1<<31), 1<<31-1)) }

// ParseNumber reads a finite decimal number. Unlike strconv, it refuses NaN, infinities, hexadecimal numbers
// and underscores.
func ParseNumber(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	if s == "" || strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}

// Flag is a boolean, also written as "true", "1" or 1. Known is false if it is missing.
type Flag struct {
	True  bool
	Known bool
}

// UnmarshalJSON never fails.
func (f *Flag) UnmarshalJSON(raw []byte) error {
	switch strings.ToLower(string(trimQuotes(raw))) {
	case "true", "1":
		*f = Flag{True: true, Known: true}
	case "false", "0":
		*f = Flag{Known: true}
	default:
		*f = Flag{}
	}
	return nil
}

// List is an array of strings or numbers, or a string that contains one. Anything else gives nil. An element of
// another type gives "".
type List []string

// UnmarshalJSON never fails.
func (l *List) UnmarshalJSON(raw []byte) error {
	*l = nil
	inner := raw
	if s := scalar(raw); s != "" {
		inner = []byte(s)
	}
	var elements []Text
	if json.Unmarshal(inner, &elements) != nil {
		return nil
	}
	for _, e := range elements {
		*l = append(*l, string(e))
	}
	return nil
}

// Each is an array whose elements are decoded one by one. Null and invalid elements are left out, so that they
// don't affect the others.
type Each[T any] []T

// UnmarshalJSON never fails.
func (e *Each[T]) UnmarshalJSON(raw []byte) error {
	*e = nil
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil {
		return nil
	}
	for _, element := range elements {
		var v T
		if string(element) != "null" && json.Unmarshal(element, &v) == nil {
			*e = append(*e, v)
		}
	}
	return nil
}

var layouts = []string{
	time.RFC3339,
	"2006-01-02 15:04:05Z07",
	"2006-01-02 15:04:05Z07:00",
	"2006-01-02T15:04:05",
	"2006-01-02",
	"January 2, 2006",
}

// ParseTime reads the formats in which the sources write a time: RFC 3339 with any number of decimals, also without a
// zone, "2026-01-23 12:30:00+00", "2021-01-02" and "April 11, 2022". Without a zone the time is UTC, and without a
// time of day it is midnight. ParseTime returns UTC in whole microseconds. It returns the zero time for any other
// format, and for years before 1970 or after 9999.
func ParseTime(s string) time.Time {
	s = strings.TrimSpace(s)
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			t = t.UTC().Truncate(time.Microsecond)
			if t.Year() < 1970 || t.Year() > 9999 {
				return time.Time{}
			}
			return t
		}
	}
	return time.Time{}
}

// scalar returns a JSON string's text, or a JSON number as written.
func scalar(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	if raw[0] == '"' {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return ""
		}
		return s
	}
	if raw[0] == '-' || (raw[0] >= '0' && raw[0] <= '9') {
		return string(raw)
	}
	return ""
}

func trimQuotes(raw []byte) []byte {
	if len(raw) >= 2 && raw[0] == '"' {
		return raw[1 : len(raw)-1]
	}
	return raw
}
