package api

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/problem"
)

func TestParseLimit(t *testing.T) {
	t.Parallel()
	tests := map[string]int{ // 0: refused
		"": 24, "other=7": 24, "limit=1": 1, "limit=100": 100, "limit=24&x=1": 24,
		"limit=0": 0, "limit=101": 0, "limit=-1": 0, "limit=abc": 0, "limit=1.5": 0, "limit=": 0, "limit": 0,
		"limit=5&limit=5": 0, "limit=+5": 0, "limit=5+": 0, "limit=1e1": 0, "limit=99999999999999999999": 0, "limit=0x10": 0, "limit=%D9%A5": 0,
	}
	for query, want := range tests {
		var args fasthttp.Args
		args.Parse(query)
		got, err := ParseLimit(&args)
		if want != 0 {
			if got != want || err != nil {
				t.Errorf("%q: %d, %v", query, got, err)
			}
			continue
		}
		p := problem.As(err)
		if p.Status != 400 || p.Code != "invalid_parameter" || !strings.Contains(p.Detail, "from 1 to 100") || p.Fields[0].Field != "limit" {
			t.Errorf("%q: %d, %v", query, got, err)
		}
	}
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 12, 1, 10, 0, 0, 500_000_000, time.UTC)
	for _, text := range []string{"2026-12-01T10:00:00.5Z", "2026-12-01t10:00:00.5z", "2026-12-01t12:00:00.5+02:00"} {
		if got, err := parseTime(text); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "2026-12-01", "2026-12-01 10:00:00Z", "2026-12-01T10:00:00", "2026-12-01T24:00:00Z", "2026-02-30T10:00:00Z"} {
		if got, err := parseTime(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func FuzzParseLimit(f *testing.F) {
	f.Add("limit=24")
	f.Add("limit=%2B1&limit")
	f.Fuzz(func(t *testing.T, query string) {
		var args fasthttp.Args
		args.Parse(query)
		n, err := ParseLimit(&args)
		if err != nil {
			if problem.As(err).Status != 400 {
				t.Errorf("%q: %v", query, err)
			}
			return
		}
		if n < MinLimit || n > MaxLimit {
			t.Errorf("%q: %d", query, n)
		}
		if sent, found, _ := single(&args, "limit"); found {
			if m, err := strconv.Atoi(string(sent)); err != nil || m != n {
				t.Errorf("%q: %d, but %s was sent", query, n, sent)
			}
		}
	})
}
