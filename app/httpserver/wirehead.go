package httpserver

import (
	"bytes"
	"encoding/binary"

	"github.com/pulsecast/pulsecast/app/problem"
)

// head is the information in the request line and headers that decides the framing and the host.
type head struct {
	http10    bool
	authority string // the host of an absolute address in the request line, else ""
	hosts     int
	length    int64
	hasLength bool
	codings   int
	chunked   bool
}

// maxLengthDigits is the most digits of a Content-Length. fasthttp accepts no more.
const maxLengthDigits = 18

// request checks the request line (RFC 9112, section 3).
func (h *head) request(line []byte) *problem.Error {
	method, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok || !isToken(method) {
		return badRequestLine
	}
	target, version, ok := bytes.Cut(rest, []byte(" "))
	if !ok || len(target) == 0 || hasControl(line) || bytes.IndexByte(line, '\t') >= 0 {
		return badRequestLine
	}
	switch string(version) {
	case "HTTP/1.1":
	case "HTTP/1.0":
		h.http10 = true
	default:
		return badVersion
	}
	if target[0] == '/' {
		return nil
	}
	return h.unusualTarget(method, target)
}

// unusualTarget checks a target that is not a path: an absolute address, which every server must accept,
// the "*" of OPTIONS, or the host of CONNECT. The routes refuse the last two.
func (h *head) unusualTarget(method, target []byte) *problem.Error {
	switch string(method) {
	case "OPTIONS":
		if string(target) == "*" {
			return nil
		}
	case "CONNECT":
		if !isHost(target) {
			return badTarget
		}
		h.authority = string(target)
		return nil
	}
	scheme, rest, ok := bytes.Cut(target, []byte("://"))
	if !ok || (!bytes.EqualFold(scheme, []byte("http")) && !bytes.EqualFold(scheme, []byte("https"))) {
		return badTarget
	}
	authority := rest
	if end := bytes.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	if len(authority) == 0 || !isHost(authority) {
		return badTarget
	}
	h.authority = string(authority)
	return nil
}

// field checks a header.
func (h *head) field(line []byte) *problem.Error {
	name, value, refusal := splitField(line)
	if refusal != nil {
		return refusal
	}
	switch len(name) {
	case len("Host"):
		if bytes.EqualFold(name, []byte("Host")) {
			return h.host(value)
		}
	case len("Content-Length"):
		if bytes.EqualFold(name, []byte("Content-Length")) {
			return h.contentLength(value)
		}
	case len("Transfer-Encoding"):
		if bytes.EqualFold(name, []byte("Transfer-Encoding")) {
			return h.transferEncoding(value)
		}
	}
	return nil
}

// splitField returns the name and the value of a header, without the spaces around the value (RFC 9112,
// section 5). Tabs around the value stay, because fasthttp would keep them.
func splitField(line []byte) (name, value []byte, refusal *problem.Error) {
	if line[0] == ' ' || line[0] == '\t' {
		return nil, nil, foldedField
	}
	colon := bytes.IndexByte(line, ':')
	if colon < 0 {
		return nil, nil, noColon
	}
	name, value = line[:colon], line[colon+1:]
	if !isToken(name) {
		return nil, nil, badFieldName
	}
	if hasControl(value) {
		return nil, nil, badFieldValue
	}
	return name, bytes.Trim(value, " "), nil
}

func (h *head) host(value []byte) *problem.Error {
	h.hosts++
	switch {
	case h.hosts > 1:
		return twoHosts
	case !isHost(value):
		return badHost
	case h.authority != "" && !bytes.EqualFold(value, []byte(h.authority)):
		return otherHost
	}
	return nil
}

func (h *head) contentLength(value []byte) *problem.Error {
	if h.hasLength {
		return twoLengths
	}
	h.hasLength = true
	if len(value) == 0 {
		return badLength
	}
	for i, b := range value {
		if b < '0' || b > '9' {
			return badLength
		}
		if i < maxLengthDigits {
			h.length = 10*h.length + int64(b-'0')
		}
	}
	if len(value) > maxLengthDigits {
		return tooLong
	}
	return nil
}

func (h *head) transferEncoding(value []byte) *problem.Error {
	h.codings++
	if h.chunked = bytes.EqualFold(value, []byte("chunked")); !h.chunked || h.codings > 1 {
		return badCoding
	}
	return nil
}

// check returns the refusal for headers that don't fit together, or nil.
func (h *head) check() *problem.Error {
	switch {
	case h.chunked && h.hasLength:
		return lengthAndCoding
	case h.chunked && h.http10:
		return codingInHTTP10
	case h.hosts == 0 && !h.http10:
		return noHost
	}
	return nil
}

// token is the set of characters of methods and header names (RFC 9110, section 5.6.2). hostByte is the set
// of characters of a Host header.
var token, hostByte = characters("!#$%&'*+-.^_`|~"), characters("-._~%!$&'()*+;=[]:")

func characters(others string) (set [256]bool) {
	for b := range 128 {
		letter := b|0x20 >= 'a' && b|0x20 <= 'z'
		set[b] = letter || (b >= '0' && b <= '9') || bytes.IndexByte([]byte(others), byte(b)) >= 0
	}
	return set
}

func isToken(name []byte) bool {
	for _, b := range name {
		if !token[b] {
			return false
		}
	}
	return len(name) > 0
}

// isHost also accepts the empty value, which a client without a host must send (RFC 9112, section 3.2).
func isHost(value []byte) bool {
	for _, b := range value {
		if !hostByte[b] {
			return false
		}
	}
	return true
}

// hasControl reports whether text has a control character other than a tab. It checks eight bytes at a
// time.
func hasControl(text []byte) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for len(text) >= 8 {
		w := binary.LittleEndian.Uint64(text)
		low := (w - 0x20*ones) &^ w & highs // bytes below 0x20
		del := w ^ 0x7f*ones
		if low|((del-ones)&^del&highs) != 0 && slowHasControl(text[:8]) {
			return true
		}
		text = text[8:]
	}
	return slowHasControl(text)
}

func slowHasControl(text []byte) bool {
	for _, b := range text {
		if (b < 0x20 && b != '\t') || b == 0x7f {
			return true
		}
	}
	return false
}
