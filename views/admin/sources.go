package admin

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pulsecast/pulsecast/views/components"
)

// SourcesProps is the state of the sources.
type SourcesProps struct {
	Frame Frame
	Feeds []Feed
	Tags  []TagCount // tags without a category, most frequent first
}

// TagCount is a tag and how many open markets carry it.
type TagCount struct {
	Tag     string
	Markets int
}

func (p *SourcesProps) tags() table {
	t := table{heads: []head{{label: "Unknown tag"}, {label: "Open markets", num: true}}}
	for _, c := range p.Tags {
		t.rows = append(t.rows, []cell{text(c.Tag), count(int64(c.Markets))})
	}
	return t
}

// Feed is one feed of signals.
type Feed struct {
	Name                          string
	Stale                         bool
	Read                          bool // the feed was read at least once
	Source                        string
	SucceededAt, FailedAt, NextAt time.Time
	AsOf                          time.Time // time of the snapshot that this node serves
	Records, Served               int       // records in the last reading, and in that snapshot
	LastError                     string
	Failures                      int            // failures in a row
	Dropped                       map[string]int // dropped records of the last reading, by reason
	Bad                           []Payload      // the last bad payload of each source
}

// Payload is a source's answer that could not be used.
type Payload struct {
	Source, Reason string
	Body           []byte
	Cut            int64 // number of bytes cut off at the end
	At             time.Time
}

func (f *Feed) facts(frame Frame) facts {
	var list facts
	if !f.Read {
		list.addText("State", "never read")
	}
	list.add("Source", text(f.Source))
	list.add("Last success", frame.moment(f.SucceededAt))
	list.add("Shown here", frame.moment(f.AsOf))
	if !f.AsOf.IsZero() {
		list.addText("Lag", frame.Now.Sub(f.AsOf).Round(time.Second).String())
	}
	list.addText("Records", components.Count(f.Records)+" read, "+components.Count(f.Served)+" shown here")
	list.add("Error", f.lastError())
	list.add("Last failure", frame.moment(f.FailedAt))
	list.add("Next attempt", frame.moment(f.NextAt))
	dropped := 0
	for _, n := range f.Dropped {
		dropped += n
	}
	list.addText("Dropped", components.Count(dropped)+" of the last reading")
	return list
}

func (f *Feed) lastError() cell {
	if f.LastError == "" {
		return cell{text: "none", tone: "muted"}
	}
	c := cell{text: f.LastError, tone: "neg"}
	if f.Failures > 0 {
		c.note = components.Plural(f.Failures, "failure", "failures") + " in a row"
	}
	return c
}

func (f *Feed) dropped() table {
	t := table{heads: []head{{label: "Dropped because"}, {label: "Records", num: true}}}
	for _, reason := range slices.Sorted(maps.Keys(f.Dropped)) {
		t.rows = append(t.rows, []cell{text(reason), count(int64(f.Dropped[reason]))})
	}
	return t
}

func (f *Feed) tick() button {
	return button{action: "/admin/sources/" + f.Name + "/tick", label: "Read it now"}
}

// cut says how many bytes are missing.
func (p *Payload) cut() string {
	if p.Cut == 0 {
		return ""
	}
	words := components.Count(int(p.Cut)) + " bytes after these are cut."
	if p.Reason == "too_large" {
		return "At least " + words
	}
	return words
}

// readable returns a source's answer as visible text. It writes each character that isn't printable
// as an escape.
func readable(body []byte) string {
	var b strings.Builder
	for len(body) > 0 {
		r, size := utf8.DecodeRune(body)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, body[0])
		case r == '\n' || r == '\t' || strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		body = body[size:]
	}
	return b.String()
}
