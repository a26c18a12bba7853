package answer_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/pulsecast/pulsecast/app/answer"
)

// TestForms checks each coding of an answer. It must decode to the body, be smaller, and have its own tag.
func TestForms(t *testing.T) {
	t.Parallel()
	for name, often := range map[string]bool{"sent often": true, "sent once": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkForms(t, often)
		})
	}
}

func checkForms(t *testing.T, often bool) {
	t.Helper()
	body := long()
	a := answer.New(body, "tag")
	a.SentOften = often
	tags := map[string]bool{a.Form(answer.Identity).ETag: true}
	decoders := map[string]func(io.Reader) (io.Reader, error){
		answer.Brotli: func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
		answer.Gzip:   func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		answer.Zstd:   func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) },
	}
	for _, coding := range answer.Codings {
		form := a.Form(coding)
		r, err := decoders[coding](bytes.NewReader(form.Body))
		if err != nil {
			t.Fatalf("%s: %v", coding, err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: decodes to %d bytes, %v; want %d", coding, len(got), err, len(body))
		}
		if len(form.Body) > len(body)/2 || form.Coding != coding || tags[form.ETag] {
			t.Errorf("%s: %d bytes as %q with the tag %s", coding, len(form.Body), form.Coding, form.ETag)
		}
		if quick := bytes.Equal(form.Body, answer.Compress(body, coding)); quick == often {
			t.Errorf("%s: compressed with little effort: %t", coding, quick)
		}
		tags[form.ETag] = true
	}
}

// TestZstdWindow checks that an answer in zstd is decoded with little memory. A node keeps at least the memory of
// the window too.
func TestZstdWindow(t *testing.T) {
	t.Parallel()
	often := answer.New(long(), "tag")
	often.SentOften = true
	for name, body := range map[string][]byte{
		"sent often": often.Form(answer.Zstd).Body, "sent once": answer.Compress(long(), answer.Zstd),
	} {
		var h zstd.Header
		if err := h.Decode(body); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if h.SingleSegment || h.WindowSize > 256<<10 {
			t.Errorf("%s: the window has %d bytes, single segment: %t", name, h.WindowSize, h.SingleSegment)
		}
	}
}

// long returns a body of more than 1 MB.
func long() []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, "{\"id\":%d,\"title\":\"Will it be %d?\"}\n", i, i*7919%10007)
	}
	return b.Bytes()
}
