package signal

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/answer"
)

type record struct{ Word string }

func codec() Codec[record] {
	return Codec[record]{
		Name: "words",
		Encode: func(dst []byte, r *record) []byte {
			if r.Word == "" {
				return dst
			}
			return append(dst, `{"word":"`+r.Word+`"}`...)
		},
		Text: func(r *record) string { return r.Word },
	}
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// clock is a time that tests can move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func reading(at time.Time, n int) Reading[record] {
	r := Reading[record]{AsOf: at, Source: "test", Interval: time.Minute}
	for i := range n {
		r.Records = append(r.Records, record{fmt.Sprintf("w%03d", i)})
	}
	return r
}

type wire struct {
	OK    bool                    `json:"ok"`
	Words []struct{ Word string } `json:"words"`
	AsOf  *time.Time              `json:"asOf"`
	Stale bool                    `json:"stale"`
	raw   map[string]json.RawMessage
}

func parse(t *testing.T, body string) (a wire) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		t.Fatalf("got %v in %s", err, body)
	}
	if err := json.Unmarshal([]byte(body), &a.raw); err != nil || len(a.raw) != 5 {
		t.Fatalf("keys of %s: %v", body, err)
	}
	return a
}

func TestBeforeTheFirstReading(t *testing.T) {
	t.Parallel()
	f := NewFeed(codec(), (&clock{noon}).now)
	if body := string(f.Form(DefaultLimit, answer.Identity).Body); body != `{"ok":true,"words":[],"nextCursor":null,"asOf":null,"stale":true}` {
		t.Error(body)
	}
}

func TestEveryLimitAndEncoding(t *testing.T) {
	t.Parallel()
	f := NewFeed(codec(), (&clock{noon}).now)
	r := reading(noon, 60)
	r.Records[3].Word = "" // can't be encoded, so it is left out
	f.Publish(r)
	s := f.Current()
	tags := map[string]bool{}
	for _, limit := range []int{1, 2, 24, 59, 60, 100} {
		for _, coding := range append(answer.Codings, answer.Identity) {
			form := s.Form(limit, coding, false)
			a := parse(t, decode(t, coding, form.Body))
			if len(a.Words) != min(limit, 59) || a.Stale || !a.AsOf.Equal(noon) || !a.OK {
				t.Fatalf("limit %d, coding %q: got %+v", limit, coding, a)
			}
			if limit > 3 && a.Words[3].Word != "w004" {
				t.Fatalf("got %+v in place of the record that can't be encoded", a.Words[3])
			}
			if form != s.Form(limit, coding, false) {
				t.Error("made twice")
			}
			if limit <= 59 && tags[form.ETag] {
				t.Errorf("two answers have the tag %s", form.ETag)
			}
			tags[form.ETag] = true
			if stale := s.Form(limit, coding, true); tags[stale.ETag] || !parse(t, decode(t, coding, stale.Body)).Stale {
				t.Errorf("got stale form %s", stale.ETag)
			}
		}
	}
	other := NewFeed(codec(), (&clock{noon}).now)
	other.Publish(r)
	if a, b := s.Form(24, answer.Gzip, false), other.Current().Form(24, answer.Gzip, false); a.ETag != b.ETag {
		t.Errorf("two nodes have different tags: %s, %s", a.ETag, b.ETag)
	}
}

func TestStaleAfterThreeIntervals(t *testing.T) {
	t.Parallel()
	c := &clock{noon}
	f := NewFeed(codec(), c.now)
	f.Publish(reading(noon, 2))
	fresh := f.Form(1, answer.Identity)
	c.at = noon.Add(3 * time.Minute)
	still := f.Form(1, answer.Identity)
	c.at = c.at.Add(time.Nanosecond)
	stale := f.Form(1, answer.Identity)
	if parse(t, string(still.Body)).Stale || !parse(t, string(stale.Body)).Stale || !f.Stale() {
		t.Errorf("got bodies\n%s\n%s", still.Body, stale.Body)
	}
	if fresh.ETag != still.ETag || still.ETag == stale.ETag {
		t.Errorf("got tags %s, %s and %s", fresh.ETag, still.ETag, stale.ETag)
	}
}

func TestMatching(t *testing.T) {
	t.Parallel()
	f := NewFeed(codec(), (&clock{noon}).now)
	f.Publish(reading(noon, 200))
	find := func(limit int, part string) (string, string) {
		form, err := f.Matching(limit, answer.Identity, func(s *Snapshot[record], i int, r *record) bool {
			return r.Word == s.Text(i) && strings.Contains(r.Word, part)
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(form.Body), form.ETag
	}
	body, tag := find(3, "5")
	a := parse(t, body)
	if len(a.Words) != 3 || a.Words[0].Word != "w005" || a.Words[2].Word != "w025" {
		t.Errorf("got %s", body)
	}
	if body, _ := find(100, "w000"); len(parse(t, body).Words) != 1 {
		t.Errorf("the first record: got %s", body)
	}
	if none, other := find(3, "nothing"); len(parse(t, none).Words) != 0 || other == tag {
		t.Errorf("got %s and %s", none, other)
	}
	if _, again := find(3, "5"); again != tag {
		t.Errorf("the tag changed: %s, %s", tag, again)
	}
}

// TestMatchingIsKept checks that an answer is admitted only once until the next snapshot, even if another
// filter finds the same records. A refused answer isn't made, and only a few answers are kept.
func TestMatchingIsKept(t *testing.T) {
	t.Parallel()
	f := NewFeed(codec(), (&clock{noon}).now)
	f.Publish(reading(noon, 200))
	admitted, left, refusal := 0, 0, error(nil)
	find := func(limit int, coding, word string) ([]byte, error) {
		form, err := f.Matching(limit, coding, func(_ *Snapshot[record], _ int, r *record) bool { return strings.Contains(r.Word, word) },
			func() (func(), error) { admitted++; return func() { left++ }, refusal })
		if err != nil {
			return nil, err
		}
		return form.Body, nil
	}
	for _, q := range []struct{ coding, word string }{
		{answer.Gzip, "w005"}, {answer.Gzip, "w005"}, {answer.Gzip, "005"}, {answer.Brotli, "005"}, {answer.Identity, "7"},
	} {
		if _, err := find(10, q.coding, q.word); err != nil || admitted != 1 || left != 1 {
			t.Fatalf("%v: got %d calls of admit, %d of leave, %v", q, admitted, left, err)
		}
	}
	f.Publish(reading(noon.Add(time.Minute), 200))
	if _, err := find(10, answer.Gzip, "w005"); err != nil || admitted != 2 {
		t.Errorf("after the next snapshot: got %d calls of admit, %v", admitted, err)
	}
	refusal = errors.New("refused")
	if _, err := find(10, answer.Gzip, "w006"); !errors.Is(err, refusal) {
		t.Errorf("refused answer: got %v", err)
	}
	refusal = nil
	for n := range 2 * maxMatches {
		if _, err := find(10, answer.Zstd, fmt.Sprintf("w%03d", n)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(f.Current().matches.kept); n != maxMatches {
		t.Errorf("%d answers are kept, want %d", n, maxMatches)
	}
}

func TestPublishNeverGoesBack(t *testing.T) {
	t.Parallel()
	f := NewFeed(codec(), (&clock{noon}).now)
	if !f.Publish(reading(noon, 2)) {
		t.Fatal("not published")
	}
	if f.Publish(reading(noon.Add(-time.Second), 3)) || f.Publish(reading(noon, 3)) {
		t.Error("an older reading was published")
	}
	if n := len(f.Current().Records); n != 2 {
		t.Errorf("got %d records", n)
	}
}

// TestClockAhead checks that a snapshot of the future is stale and gives way to any other, and that nothing else goes back.
func TestClockAhead(t *testing.T) {
	t.Parallel()
	c := &clock{noon.Add(24 * time.Hour)}
	f := NewFeed(codec(), c.now)
	f.Publish(reading(c.at, 2))
	if f.Stale() {
		t.Error("stale while the clock is ahead")
	}
	c.at = noon
	if !f.Stale() || !parse(t, string(f.Form(1, answer.Identity).Body)).Stale {
		t.Error("a snapshot of the future isn't stale")
	}
	if f.Publish(reading(noon.Add(24*time.Hour), 3)) || !f.Publish(reading(noon, 3)) || f.Stale() || len(f.Current().Records) != 3 {
		t.Errorf("after the clock was set back: got the snapshot of %s, stale %v", f.Current().AsOf, f.Stale())
	}
	f.Publish(reading(noon.Add(time.Hour), 4)) // of another node
	if f.Publish(reading(noon.Add(time.Minute), 5)) {
		t.Error("a reading an hour ahead was replaced")
	}
}

func TestConcurrentPublishAndRead(t *testing.T) {
	t.Parallel()
	f := NewFeed(codec(), (&clock{noon}).now)
	var wg sync.WaitGroup
	for p := range 4 {
		wg.Go(func() {
			for i := range 20 {
				f.Publish(reading(noon.Add(time.Duration(i*4+p)*time.Millisecond), i+1))
			}
		})
		wg.Go(func() {
			last := time.Time{}
			for range 200 {
				a := parse(t, string(f.Form(1+p*30, answer.Identity).Body))
				if a.AsOf == nil {
					continue
				}
				if a.AsOf.Before(last) {
					t.Errorf("the snapshot went back from %s to %s", last, a.AsOf)
				}
				last = *a.AsOf
			}
		})
	}
	wg.Wait()
	if got := f.Current().AsOf; !got.Equal(noon.Add(79 * time.Millisecond)) {
		t.Errorf("got last snapshot %s", got)
	}
}
