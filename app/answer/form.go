package answer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"sync"

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

// A Form is one complete answer in one content coding.
type Form struct {
	Body   []byte
	Coding string
	ETag   string // strong, quoted
}

// An Answer is a body that never changes, with its forms. Its methods are safe for
// concurrent use.
type Answer struct {
	// Value is what the body was made from, if the maker of the answer set it. It must not
	// be changed.
	Value any

	tag        string
	plain      Form
	compressed [3]struct { // in the order of Codings
		once sync.Once
		form Form
	}
}

// New returns an answer. The tag names the content: two answers have the same tag only if
// they have the same body. The body must not change afterwards.
func New(body []byte, tag string) *Answer {
	return &Answer{tag: tag, plain: Form{Body: body, ETag: `"` + tag + `"`}}
}

// Form returns the answer in a coding, one of Codings or Identity. A compressed form is made
// when it is first asked for. After that, Form doesn't allocate.
func (a *Answer) Form(coding string) *Form {
	i := slices.Index(Codings, coding)
	if i < 0 {
		return &a.plain
	}
	c := &a.compressed[i]
	c.once.Do(func() {
		c.form = Form{Body: Compress(a.plain.Body, coding), Coding: coding, ETag: `"` + a.tag + "-" + coding + `"`}
	})
	return &c.form
}

// Digest returns a tag for a content, the same on every node.
func Digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// zstdWriter is safe for concurrent EncodeAll.
var zstdWriter, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1))

// Compress encodes a body at a level that takes a millisecond or two for a hundred
// records; higher levels save about one per cent. Writing to memory doesn't fail.
func Compress(body []byte, coding string) []byte {
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
