package signal

import (
	"bytes"
	"io"
	"slices"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// The content codings of a form, by their names in Content-Encoding.
const (
	Identity = "" // not compressed
	Brotli   = "br"
	Zstd     = "zstd"
	Gzip     = "gzip"
)

// Codings are the compressed codings that every answer is offered in, the preferred one
// first.
var Codings = []string{Brotli, Zstd, Gzip}

// forms is the number of forms of one answer: one for each coding and the plain one.
const forms = 4

// slot returns the place of a coding among the forms of one answer. Identity and
// unknown codings have the first.
func slot(coding string) int { return slices.Index(Codings, coding) + 1 }

// A Form is one complete answer in one content coding.
type Form struct {
	Body   []byte
	Coding string
	ETag   string // strong, quoted
}

func newForm(plain []byte, coding, tag string) *Form {
	if coding != Identity {
		tag += "-" + coding
	}
	return &Form{Body: compress(plain, coding), ETag: `"` + tag + `"`, Coding: coding}
}

// zstdWriter is safe for concurrent EncodeAll.
var zstdWriter, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1))

// compress encodes body at a level that takes a millisecond or two for a hundred
// records; higher levels save about one per cent. Writing to memory doesn't fail.
func compress(body []byte, coding string) []byte {
	var out bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case Brotli:
		w = brotli.NewWriterLevel(&out, 5)
	case Gzip:
		w, _ = gzip.NewWriterLevel(&out, 6)
	case Zstd:
		return zstdWriter.EncodeAll(body, nil)
	default:
		return body
	}
	_, _ = w.Write(body)
	_ = w.Close()
	return out.Bytes()
}
