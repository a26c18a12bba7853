package api

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/problem"
)

// TestShortPages checks that the pages of a list follow each other, also if elements come or go in the meantime.
func TestShortPages(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	// A letter is an element. Later letters are older, and a capital is as old as its small letter.
	place := func(e string) (time.Time, string) {
		return start.Add(-time.Duration(strings.ToLower(e)[0]) * time.Second), e
	}
	read := func(list, limit string, next *string) (string, *string) {
		t.Helper()
		query := url.Values{"limit": {limit}}
		if next != nil {
			query.Set("cursor", *next)
		}
		var args fasthttp.Args
		args.Parse(query.Encode())
		p, err := parseShortPage(&args, "letters")
		if err != nil {
			t.Fatal(err)
		}
		page, next := cut(p, strings.Split(list, ""), place)
		return strings.Join(page, ""), next
	}
	for _, c := range []struct{ before, after, limit, first, second string }{
		{"abcd", "abcd", "2", "ab", "cd"},
		{"aAbB", "aAbB", "1", "a", "A"},
		{"aAbB", "aAbB", "3", "aAb", "B"},
		{"bcd", "abcd", "2", "bc", "d"},
		{"abcd", "acd", "2", "ab", "cd"}, // the last one of the first page is gone
		{"abcd", "ab", "2", "ab", ""},
		{"abcd", "a", "2", "ab", ""},
	} {
		first, next := read(c.before, c.limit, nil)
		if next == nil {
			t.Errorf("%+v: no second page", c)
			continue
		}
		second, _ := read(c.after, c.limit, next)
		if first != c.first || second != c.second {
			t.Errorf("%+v: %q and %q", c, first, second)
		}
	}
	if all, next := read("abcd", "4", nil); all != "abcd" || next != nil {
		t.Errorf("%q, %v", all, next)
	}
	for _, bad := range []string{
		"x", cursor.Encode("numbers", cursor.Time(start), "a"), cursor.Encode("letters", "soon", "a"),
		cursor.Encode("letters", cursor.Time(start), ""), cursor.Encode("letters", "a"),
	} {
		var args fasthttp.Args
		args.Parse("cursor=" + bad)
		if _, err := parseShortPage(&args, "letters"); err == nil || problem.As(err).Code != "invalid_parameter" {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
