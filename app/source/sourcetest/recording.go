package sourcetest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strings"
	"time"
)

// Contents counts the records that a server can answer with.
type Contents struct {
	Markets, Events, Posts int
}

// Load reads every JSON file of a folder. It keeps the records that upstreams answer with: markets, events,
// books, posts and stories, wherever they are in a file. Of two recordings of one market, the later one is kept.
//
// Load moves dates by whole days, so that a file's newest market was updated and each post was published
// within the last day. It changes nothing else.
func (s *Server) Load(files fs.FS, now time.Time) (Contents, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := loader{Server: s, now: now, updated: map[string]string{}}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".json" {
			return err
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		var v any
		if err := json.Unmarshal(body, &v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		l.days = daysSince(newestUpdate(v), now)
		l.collect(v)
		return nil
	})
	return Contents{Markets: len(s.markets), Events: len(s.events), Posts: len(s.posts) + len(s.stories)}, err
}

type loader struct {
	*Server
	now     time.Time
	days    int               // the shift of the file's dates, in days
	updated map[string]string // when each market was updated, before the shift
}

// collect finds records by their fields.
func (l *loader) collect(v any) {
	r, _ := v.(Record)
	list, _ := v.([]any)
	switch {
	case r["question"] != nil:
		l.addMarket(r)
	case r["title"] != nil && r["markets"] != nil:
		l.addEvent(r)
	case r["tokens"] != nil:
		l.books[text(r["condition_id"])] = r
	case r["subreddit"] != nil && r["created_utc"] != nil:
		r["created_utc"] = sameHourToday(number(r["created_utc"]), l.now)
		l.posts = append(l.posts, r)
	case r["hits"] != nil:
		hits, _ := r["hits"].([]any)
		l.stories = append(l.stories, hits...)
	default:
		for _, inner := range r {
			l.collect(inner)
		}
		for _, one := range list {
			l.collect(one)
		}
	}
}

func (l *loader) addMarket(m Record) {
	id, updated := text(m["id"]), text(m["updatedAt"])
	if id == "" || l.updated[id] > updated {
		return
	}
	moveDates(m, l.days)
	l.markets[id], l.updated[id] = m, updated
}

// addEvent adds an event and its markets. Each market then names the event, as in Gamma.
func (l *loader) addEvent(e Record) {
	markets, _ := e["markets"].([]any)
	delete(e, "markets")
	moveDates(e, l.days)
	l.events[text(e["id"])] = e
	bare := Record{}
	for key, value := range e {
		if key != "tags" {
			bare[key] = value
		}
	}
	for _, one := range markets {
		if m, ok := one.(Record); ok {
			l.addMarket(m)
			m["events"], m["tags"] = []any{bare}, e["tags"]
		}
	}
}

// newestUpdate returns the latest "updatedAt" of the markets and events in v, or "" if there is none.
func newestUpdate(v any) string {
	newest := ""
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			newest = max(newest, newestUpdate(one))
		}
	case Record:
		newest = text(v["updatedAt"])
		for _, inner := range v {
			newest = max(newest, newestUpdate(inner))
		}
	}
	return newest
}

// daysSince returns the whole days from an RFC 3339 time to now, or 0 if text isn't a time.
func daysSince(at string, now time.Time) int {
	then, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return 0
	}
	return int(math.Floor(now.Sub(then).Hours() / 24))
}

// moveDates shifts every text that is a date or a time.
func moveDates(v any, days int) {
	moved := func(v any) any {
		if date, ok := v.(string); ok {
			return movedDate(date, days)
		}
		moveDates(v, days)
		return v
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = moved(v[i])
		}
	case Record:
		for key := range v {
			v[key] = moved(v[key])
		}
	}
}

// movedDate shifts a time and keeps its format, which is one of "2026-01-10T10:28:59Z", "2026-01-10
// 10:28:59+00" and "2026-01-10".
func movedDate(date string, days int) string {
	if len(date) < len(time.DateOnly) || strings.Trim(date, "0123456789-T:.Z+ ") != "" {
		return date
	}
	day, err := time.Parse(time.DateOnly, date[:len(time.DateOnly)])
	if err != nil {
		return date
	}
	return day.AddDate(0, 0, days).Format(time.DateOnly) + date[len(time.DateOnly):]
}

// sameHourToday moves a time in Unix seconds by whole days into the last 24 hours.
func sameHourToday(at float64, now time.Time) float64 {
	const day = 24 * 60 * 60
	return at + math.Floor((float64(now.Unix())-at)/day)*day
}
