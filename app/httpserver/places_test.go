package httpserver

import (
	"net/netip"
	"testing"

	"github.com/google/uuid"
)

// TestPlaces checks that one caller, or all keys of one address, can't take all places.
func TestPlaces(t *testing.T) {
	t.Parallel()
	address := func(text string) bucketKey { return addrKey(netip.MustParseAddr(text)) }
	key := func(n byte) bucketKey { return agentKey(uuid.UUID{n}) }
	home := address("192.0.2.1")
	p, leaves := NewPlaces(9, 2), map[string]func(){}
	for _, step := range []struct {
		of      string
		leaves  string // the place that is given back before
		by      bucketKey
		sharers []bucketKey
		want    error
	}{
		{of: "first", by: address("2001:db8::1")},
		{of: "second, in the same /64", by: address("2001:db8::2")},
		{of: "third", by: address("2001:db8::1"), want: ErrShare},
		{of: "third after the first has ended", leaves: "first", by: address("2001:db8::1")},
		{of: "a place is given back once", leaves: "first", by: address("2001:db8::1"), want: ErrShare},
		{of: "a key", by: key(1), sharers: []bucketKey{home}},
		{of: "the same key", by: key(1), sharers: []bucketKey{home}},
		{of: "the same key, too often", by: key(1), sharers: []bucketKey{home}, want: ErrShare},
		{of: "a second key", by: key(2), sharers: []bucketKey{home}},
		{of: "a third key", by: key(3), sharers: []bucketKey{home}},
		{of: "a fourth key of the same address", by: key(4), sharers: []bucketKey{home}, want: ErrShare},
		{of: "the same address without a key", by: home},
		{of: "a key of another address", by: key(5), sharers: []bucketKey{address("192.0.2.2")}},
		{of: "the last place", by: key(6), sharers: []bucketKey{address("192.0.2.3")}},
		{of: "no place", by: key(7), sharers: []bucketKey{address("192.0.2.4")}, want: ErrFull},
		{of: "a place that is free again", leaves: "a key", by: key(7), sharers: []bucketKey{address("192.0.2.4")}},
	} {
		if leave := leaves[step.leaves]; leave != nil {
			leave()
		}
		leave, err := p.enter(step.by, step.sharers...)
		if err != step.want {
			t.Errorf("%s: got %v, want %v", step.of, err, step.want)
		}
		leaves[step.of] = leave
	}
	for _, leave := range leaves {
		if leave != nil {
			leave()
		}
	}
	if p.taken != 0 || len(p.held) != 0 || len(p.shared) != 0 {
		t.Errorf("%d places are taken after all have been given back; %v, %v", p.taken, p.held, p.shared)
	}
}
