package signal

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/pulsecast/pulsecast/app/answer"
)

func decode(t *testing.T, coding string, body []byte) string {
	t.Helper()
	var r io.Reader = bytes.NewReader(body)
	var err error
	switch coding {
	case answer.Brotli:
		r = brotli.NewReader(r)
	case answer.Gzip:
		r, err = gzip.NewReader(r)
	case answer.Zstd:
		r, err = zstd.NewReader(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

func TestFormsAllocateNothing(t *testing.T) {
	f := NewFeed(codec(), (&clock{noon}).now)
	f.Publish(reading(noon, 200))
	for _, coding := range append(slices.Clone(answer.Codings), answer.Identity) {
		if n := testing.AllocsPerRun(1000, func() { f.Form(DefaultLimit, coding) }); n != 0 {
			t.Errorf("%q: got %v allocations, want none", coding, n)
		}
	}
}
