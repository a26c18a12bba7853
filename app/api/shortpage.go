package api

import (
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/cursor"
)

// shortPage is the page that a request asks for of a list that is short enough to be read as a whole, newest first.
type shortPage struct {
	list   string // distinguishes the cursors of different lists
	limit  int
	after  time.Time // of the last element of the page before
	lastID string    // its id; "" for the first page
}

// parseShortPage reads the parameters limit and cursor.
func parseShortPage(args *fasthttp.Args, list string) (p shortPage, err error) {
	p.list = list
	if p.limit, err = ParseLimit(args); err != nil {
		return p, err
	}
	sent, err := text(args, "cursor", maxParameter)
	if err != nil || sent == "" {
		return p, err
	}
	parts, err := cursor.Decode(sent, 3)
	if err != nil {
		return p, err
	}
	if p.after, err = cursor.ParseTime(parts[1]); err != nil || parts[0] != list || parts[2] == "" {
		return p, cursor.Invalid()
	}
	p.lastID = parts[2]
	return p, nil
}

// cut returns the elements of a page, and the cursor of the next page, or nil at the end. place returns the time and
// the id of an element.
func cut[T any](p shortPage, all []T, place func(T) (time.Time, string)) ([]T, *string) {
	if p.lastID != "" {
		start := 1 + slices.IndexFunc(all, func(e T) bool { _, id := place(e); return id == p.lastID })
		if start == 0 { // it was deleted in the meantime
			start = slices.IndexFunc(all, func(e T) bool { at, _ := place(e); return at.Before(p.after) })
		}
		if start < 0 {
			start = len(all)
		}
		all = all[start:]
	}
	if len(all) <= p.limit {
		return all, nil
	}
	at, id := place(all[p.limit-1])
	return all[:p.limit], textOrNull(cursor.Encode(p.list, cursor.Time(at), id))
}
