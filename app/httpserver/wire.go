package httpserver

import (
	"bytes"
	"math"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/problem"
)

// framing checks the requests of one connection on their way to fasthttp, and stops at the first malformed
// one.
//
// fasthttp reads leniently: it takes the last of two lengths, a folded header and any transfer coding. A
// proxy that reads the same bytes differently sees other requests in them, so a client could hide a request
// from the proxy (request smuggling). Therefore framing checks each line of a request (RFC 9112) before
// fasthttp sees it. fasthttp never gets the end of a malformed request, so no handler runs. It reads the
// refusal as the error of the connection.
//
// framing holds no bytes back. It copies a line only if the line's end has not arrived yet.
type framing struct {
	next     part
	line     []byte // the beginning of a line whose end has not arrived
	left     int64  // bytes left of the body, the chunk or the limit for trailer fields
	blank    bool   // an empty line came before the request
	head     head
	refusal  *problem.Error        // of the malformed request; nothing after it is read
	long     func() *problem.Error // takes a place for a body of more than MaxBody, or returns a refusal; nil: no place is needed
	size     int64                 // of the body so far, in bytes
	dropping bool                  // the line is a trailer field
}

// part is the part of a request that the next byte belongs to.
type part uint8

const (
	requestLine part = iota
	fieldLine
	body
	chunkSize
	chunkData
	chunkEnd
	trailerLine
)

const (
	// maxChunkLine is the longest line with a chunk's size and its extensions, in bytes.
	maxChunkLine = 256
	// maxTrailers is the largest trailer section, in bytes.
	maxTrailers = 8 << 10
)

// pass checks the bytes in p and returns how many of them are for fasthttp. It moves these to the front of
// p. It removes trailer fields, because fasthttp would read them as headers.
func (f *framing) pass(p []byte) int {
	kept := 0
	for len(p[kept:]) > 0 && f.refusal == nil {
		n := f.step(p[kept:])
		switch {
		case f.refusal != nil:
			if f.next == requestLine || f.next == trailerLine {
				// If the error came before the first of these bytes, fasthttp would close without an answer
				// or treat the request as complete.
				p[kept] = 'X'
				kept++
			}
		case f.dropping:
			p = append(p[:kept], p[kept+n:]...)
			f.dropping = false
		default:
			kept += n
		}
	}
	return kept
}

// step checks the next piece of p: a line, a part of a line, or bytes of a body.
func (f *framing) step(p []byte) int {
	if f.next == body || f.next == chunkData {
		return f.data(p)
	}
	if f.next == requestLine && len(f.line) == 0 && !token[p[0]] && p[0] != '\r' && p[0] != '\n' {
		f.refusal = badRequestLine // for example a TLS handshake, which has no line end to wait for
		return 0
	}
	f.dropping = f.next == trailerLine
	end := bytes.IndexByte(p, '\n') + 1
	if end == 0 {
		f.line = append(f.line, p...)
		f.limit(f.line)
		return len(p)
	}
	line := p[:end]
	if len(f.line) > 0 {
		f.line = append(f.line, line...)
		line, f.line = f.line, f.line[:0]
	}
	f.limit(line)
	if len(line) < 2 || line[len(line)-2] != '\r' {
		f.refusal = bareLineFeed
	}
	if f.refusal == nil {
		f.dropping = f.dropping && len(line) > 2
		f.accept(line[:len(line)-2])
	}
	return end
}

// data counts the bytes of a body or of a chunk.
func (f *framing) data(p []byte) int {
	n := min(f.left, int64(len(p)))
	f.left -= n
	switch {
	case f.left > 0:
	case f.next == chunkData:
		f.next = chunkEnd
	default:
		f.begin()
	}
	return int(n)
}

// limit refuses lines that fasthttp would read without a bound. fasthttp's buffer bounds all other lines.
func (f *framing) limit(line []byte) {
	switch f.next {
	case chunkSize, chunkEnd:
		if len(line) > maxChunkLine {
			f.refusal = badChunk
		}
	case trailerLine:
		if int64(len(line)) > f.left {
			f.refusal = longTrailers
		}
	}
}

// accept checks a whole line, without its CR LF.
func (f *framing) accept(line []byte) {
	switch f.next {
	case requestLine:
		f.request(line)
	case fieldLine:
		if len(line) == 0 {
			f.endHead()
		} else {
			f.refusal = f.head.field(line)
		}
	case chunkSize:
		f.chunk(line)
	case chunkEnd:
		f.next = chunkSize
		if len(line) > 0 {
			f.refusal = badChunk
		}
	case trailerLine:
		f.trailer(line)
	}
}

func (f *framing) request(line []byte) {
	if len(line) == 0 && !f.blank { // RFC 9112, section 2.2
		f.blank = true
		return
	}
	if f.refusal = f.head.request(line); f.refusal == nil {
		f.next = fieldLine
	}
}

// endHead decides how the body is framed.
func (f *framing) endHead() {
	h := &f.head
	if f.refusal = h.check(); f.refusal != nil {
		return
	}
	switch {
	case h.chunked:
		f.next = chunkSize
	case h.length > 0:
		f.next, f.left = body, h.length
		f.announce(h.length)
	default:
		f.begin()
	}
}

// begin expects another request.
func (f *framing) begin() {
	f.next, f.blank, f.head, f.size = requestLine, false, head{}, 0
	if cap(f.line) > 1<<10 {
		f.line = nil // so that an idle connection keeps little memory
	}
}

func (f *framing) chunk(line []byte) {
	size, ok := parseChunkSize(line)
	switch {
	case !ok:
		f.refusal = badChunk
	case size == 0:
		f.next, f.left = trailerLine, maxTrailers
	case size > math.MaxInt32:
		f.refusal = tooLong
	default:
		f.next, f.left = chunkData, size
		f.announce(size)
	}
}

// announce counts bytes of a body that follow. The place for a long body lasts for the rest of the connection.
func (f *framing) announce(n int64) {
	if f.size += n; f.size > MaxBody && f.long != nil {
		if f.refusal = f.long(); f.refusal == nil {
			f.long = nil
		}
	}
}

// parseChunkSize returns the size of a chunk. Extensions are allowed and ignored (RFC 9112,
// section 7.1.1).
func parseChunkSize(line []byte) (size int64, ok bool) {
	digits := 0
	for ; digits < len(line); digits++ {
		d := hexDigit(line[digits])
		if d < 0 {
			break
		}
		if digits == 15 {
			return 0, false
		}
		size = size<<4 | int64(d)
	}
	extensions := bytes.TrimLeft(line[digits:], " \t")
	if digits == 0 || hasControl(extensions) || (len(extensions) > 0 && extensions[0] != ';') ||
		(len(extensions) == 0 && digits < len(line)) {
		return 0, false
	}
	return size, true
}

func hexDigit(b byte) int {
	switch {
	case b >= '0' && b <= '9':
		return int(b - '0')
	case b >= 'a' && b <= 'f':
		return int(b-'a') + 10
	case b >= 'A' && b <= 'F':
		return int(b-'A') + 10
	}
	return -1
}

// trailer checks a trailer field like a header. No handler reads trailer fields.
func (f *framing) trailer(line []byte) {
	if len(line) == 0 {
		f.begin()
		return
	}
	f.left -= int64(len(line)) + 2
	_, _, f.refusal = splitField(line)
}

// The refusals of malformed requests, and of bodies whose announced length is too large. No handler runs for
// such a request, and the connection closes after the refusal.
var (
	badRequestLine  = malformedRequest("The request line is malformed; send METHOD, a space, the path, a space and HTTP/1.1.")
	badVersion      = malformedRequest("The version of HTTP in the request line is not supported; send HTTP/1.1 or HTTP/1.0.")
	badTarget       = malformedRequest("The address in the request line is malformed; send a path that starts with a slash.")
	otherHost       = malformedRequest("The request line names one host and the Host header another; send a path alone in the request line.")
	bareLineFeed    = malformedRequest("A line ends in LF alone; end each line with CR LF.")
	foldedField     = malformedRequest("A header line begins with a space; send each header in one line.")
	noColon         = malformedRequest("A header line has no colon; send each header as Name: value.")
	badFieldName    = malformedRequest("The name of a header is malformed; send letters, digits and hyphens, and the colon directly after them.")
	badFieldValue   = malformedRequest("The value of a header has a control character, such as NUL or a CR without LF; send none.")
	noHost          = malformedRequest("There is no Host header; send exactly one.")
	twoHosts        = malformedRequest("There are several Host headers; send exactly one.")
	badHost         = malformedRequest("The Host header is malformed; send a host name or address and, if needed, a colon and the port.")
	badLength       = malformedRequest("The Content-Length header is malformed; send the number of bytes of the body in digits.")
	twoLengths      = malformedRequest("There are several Content-Length headers; send at most one.")
	lengthAndCoding = malformedRequest("There are both a Content-Length and a Transfer-Encoding header; send one of them.")
	badCoding       = malformedRequest("The only transfer coding understood is chunked; send Transfer-Encoding: chunked once, or a Content-Length.")
	codingInHTTP10  = malformedRequest("HTTP/1.0 has no Transfer-Encoding; send a Content-Length, or use HTTP/1.1.")
	badChunk        = malformedRequest("A chunk of the body is malformed; send its size in hexadecimal digits, CR LF, the bytes and CR LF.")

	tooLong = problem.PayloadTooLarge(MaxBody)
	// manyLongBodies is no fault of the request.
	manyLongBodies = problem.Unavailable("Too many bodies of more than 64 KiB are being read. Send this one again, or in smaller parts.", time.Second)
	longTrailers   = badRequest(fiber.StatusRequestHeaderFieldsTooLarge, "The trailer fields may be at most 8 KiB; send fewer.")
)

func malformedRequest(detail string) *problem.Error {
	return badRequest(fiber.StatusBadRequest, detail)
}
