package answer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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

// The compressed codings of every answer, the preferred one first.
var (
	// Codings has the smallest one first, for an answer that is made once and sent often.
	Codings = []string{Brotli, Zstd, Gzip}
	// QuickCodings is for an answer that a request makes. Brotli is the slowest, so it is last.
	QuickCodings = []string{Zstd, Gzip, Brotli}
)

// CompressFrom is the size in bytes of the smallest body that is worth compressing. A smaller one
// saves less than one packet.
const CompressFrom = 1 << 10

// A Form is one complete answer in one content coding.
type Form struct {
	Body   []byte
	Coding string
	ETag   string // strong, quoted
}

// An Answer is a body that never changes, with its forms. Its methods are safe for
// concurrent use.
type Answer struct {
	// Value is what the caller of New keeps with the body, if anything. It must not be modified.
	Value any
	// StaleSince is the Side.StaleSince of the read that made the answer. A Cache sets it.
	StaleSince time.Time
	// SentOften makes the forms with more effort. Set it before the first call of Form.
	SentOften bool

	tag        string
	plain      Form
	compressed [3]struct { // in the order of Codings
		once sync.Once
		form Form
	}
	packed atomic.Int64 // bytes of the compressed forms made so far
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
		e := quick
		if a.SentOften {
			e = thorough
		}
		c.form = Form{Body: e.encode(a.plain.Body, coding), Coding: coding, ETag: `"` + a.tag + "-" + coding + `"`}
		a.packed.Add(int64(len(c.form.Body)))
	})
	return &c.form
}

// Size returns the bytes of the body and of the forms that were made so far.
func (a *Answer) Size() int { return len(a.plain.Body) + int(a.packed.Load()) }

// Digest returns a tag for content: 16 hexadecimal digits of its SHA-256, the same on every node.
func Digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// compressor is a writer that can be used again.
type compressor interface {
	io.WriteCloser
	Reset(io.Writer)
}

// windowBits is the base-2 logarithm of the window of brotli and zstd in bytes. Their defaults, 22 and 23, make our
// bodies no smaller. But with its default, brotli takes 11 MB of memory for a hundred records instead of 3 MB, and
// zstd keeps 16 MB instead of 1 MB.
const windowBits = 18

// encoder compresses bodies with some effort. It keeps unused writers, because a new one takes megabytes.
type encoder struct {
	brotli, gzip sync.Pool
	zstd         *zstd.Encoder // its EncodeAll is safe for concurrent use
}

func newEncoder(brotliQuality, gzipLevel int, zstdLevel zstd.EncoderLevel) *encoder {
	e := &encoder{}
	e.brotli.New = func() any {
		return brotli.NewWriterOptions(nil, brotli.WriterOptions{Quality: brotliQuality, LGWin: windowBits})
	}
	e.gzip.New = func() any { w, _ := gzip.NewWriterLevel(nil, gzipLevel); return w }
	e.zstd, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstdLevel), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(1<<windowBits), zstd.WithLowerEncoderMem(true))
	return e
}

// thorough is for answers that are sent often. Higher levels save one or two per cent. With gzip, quick takes about half
// the time, and its forms are about a tenth larger; see docs/decisions/0011-speed.md.
var (
	thorough = newEncoder(5, 5, zstd.SpeedBetterCompression)
	quick    = newEncoder(3, 1, zstd.SpeedFastest)
)

// Compress encodes a body that is sent once. An unknown coding returns the body.
func Compress(body []byte, coding string) []byte { return quick.encode(body, coding) }

func (e *encoder) encode(body []byte, coding string) []byte {
	switch coding {
	case Brotli:
		return compressWith(&e.brotli, body)
	case Gzip:
		return compressWith(&e.gzip, body)
	case Zstd:
		return e.zstd.EncodeAll(body, nil)
	}
	return body
}

func compressWith(writers *sync.Pool, body []byte) []byte {
	var out bytes.Buffer
	w := writers.Get().(compressor)
	defer writers.Put(w)
	w.Reset(&out)
	_, _ = w.Write(body) // writing to memory doesn't fail
	_ = w.Close()
	return bytes.Clone(out.Bytes()) // without the unused part of the buffer
}
