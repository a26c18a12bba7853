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

// The content codings, by their names in Content-Encoding.
const (
	Identity = "" // not compressed
	Brotli   = "br"
	Zstd     = "zstd"
	Gzip     = "gzip"
)

// Codings lists the compressed codings of every answer, the preferred one first.
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
	// Value is the data behind the body, if the caller of New has set it. It must not be modified.
	Value any

	tag        string
	plain      Form
	compressed [3]struct { // in the order of Codings
		once sync.Once
		form Form
	}
}

// New returns an answer with a body and a tag for its ETags. Answers with different bodies must
// have different tags. The body must not be modified afterwards.
func New(body []byte, tag string) *Answer {
	return &Answer{tag: tag, plain: Form{Body: body, ETag: `"` + tag + `"`}}
}

// Form returns the answer in a coding: one of Codings, or Identity, which is also used for an
// unknown coding. The first call for a coding compresses the body. Later calls don't allocate.
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

// Digest returns a tag for content: 16 hexadecimal digits of its SHA-256, the same on every node.
func Digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// zstdWriter's EncodeAll is safe for concurrent use.
var zstdWriter, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1))

// Compress encodes a body, at a level that takes one or two milliseconds for a hundred records.
// Higher levels save about one per cent. An unknown coding returns the body.
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
	_, _ = w.Write(body) // writing to memory doesn't fail
	_ = w.Close()
	return out.Bytes()
}
