package httpserver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

const (
	get  = "GET /api/x HTTP/1.1\r\nHost: x\r\n"
	post = "POST /api/x HTTP/1.1\r\nHost: x\r\n"
	// hidden is the request that a malformed request tries to smuggle past a proxy.
	hidden = "POST /api/hidden HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
)

// malformedShapes are requests that are refused before any handler runs. Those with a body that a lenient
// server might read differently end with hidden.
var malformedShapes = []struct {
	name, request string
	status        int
}{
	// The length of the body.
	{"length and coding", post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
	{"coding and length", post + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", 400},
	{"coding and length 0", post + "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n", 400},
	{"two lengths", post + "Content-Length: 0\r\nContent-Length: 60\r\n\r\n", 400},
	{"two lengths in other cases", post + "content-length: 60\r\nCONTENT-LENGTH: 0\r\n\r\n", 400},
	{"two equal lengths", post + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400},
	{"list of equal lengths", post + "Content-Length: 2, 2\r\n\r\n{}", 400},
	{"list of lengths", post + "Content-Length: 0,60\r\n\r\n", 400},
	{"negative length", post + "Content-Length: -1\r\n\r\n", 400},
	{"length with a plus", post + "Content-Length: +2\r\n\r\n{}", 400},
	{"hexadecimal length", post + "Content-Length: 0x2\r\n\r\n{}", 400},
	{"length with a letter", post + "Content-Length: 2a\r\n\r\n{}", 400},
	{"length with a space inside", post + "Content-Length: 1 0\r\n\r\n", 400},
	{"length with a fraction", post + "Content-Length: 2.0\r\n\r\n{}", 400},
	{"length with an underscore", post + "Content-Length: 1_0\r\n\r\n", 400},
	{"length in other digits", post + "Content-Length: \xd9\xa2\r\n\r\n{}", 400},
	{"length in quotes", post + "Content-Length: \"2\"\r\n\r\n{}", 400},
	{"empty length", post + "Content-Length:\r\n\r\n", 400},
	{"length after a tab", post + "Content-Length:\t2\r\n\r\n{}", 400},
	{"length before a vertical tab", post + "Content-Length: 2\v\r\n\r\n{}", 400},
	{"space before the colon of the length", post + "Content-Length : 60\r\n\r\n", 400},
	{"tab before the colon of the length", post + "Content-Length\t: 60\r\n\r\n", 400},
	{"length of 19 digits", post + "Content-Length: 9223372036854775807\r\n\r\n", 413},
	{"length over 64 bits", post + "Content-Length: 18446744073709551617\r\n\r\n", 413},
	{"length of 15 digits", post + "Content-Length: 999999999999999\r\n\r\n", 413},
	{"length on GET twice", get + "Content-Length: 0\r\nContent-Length: 60\r\n\r\n", 400},

	// The coding of the body.
	{"unknown coding", post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400},
	{"identity coding", post + "Transfer-Encoding: identity\r\n\r\n", 400},
	{"gzip coding", post + "Transfer-Encoding: gzip\r\n\r\n", 400},
	{"gzip, chunked", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400},
	{"chunked, identity", post + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 400},
	{"chunked, chunked", post + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400},
	{"chunked in two headers", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
	{"chunked, then identity", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", 400},
	{"identity, then chunked", post + "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
	{"identity and a length", post + "Transfer-Encoding: identity\r\nContent-Length: 60\r\n\r\n", 400},
	{"chunked with a parameter", post + "Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n", 400},
	{"chunked after a comma", post + "Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n", 400},
	{"chunked in quotes", post + "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n", 400},
	{"empty coding", post + "Transfer-Encoding:\r\n\r\n", 400},
	{"chunked after a tab", post + "Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n", 400},
	{"chunked after a vertical tab", post + "Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n", 400},
	{"chunked before NUL", post + "Transfer-Encoding: chunked\x00\r\n\r\n0\r\n\r\n", 400},
	{"folded coding", post + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", 400},
	{"folded coding with a tab", post + "Transfer-Encoding: x\r\n\tchunked\r\n\r\n0\r\n\r\n", 400},
	{"space before the colon of the coding", post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400},
	{"space before the coding's name", post + " Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
	{"coding in HTTP/1.0", "POST /api/x HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
	{"coding after LF alone", post + "X-A: b\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
	{"coding after CR alone", post + "X-A: b\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
	{"coding on GET with a length", get + "Transfer-Encoding: chunked\r\nContent-Length: 60\r\n\r\n0\r\n\r\n", 400},

	// Chunks.
	{"chunk size in letters", post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", 400},
	{"chunk size with 0x", post + "Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n", 400},
	{"negative chunk size", post + "Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n", 400},
	{"chunk size with a plus", post + "Transfer-Encoding: chunked\r\n\r\n+2\r\n{}\r\n0\r\n\r\n", 400},
	{"space before the chunk size", post + "Transfer-Encoding: chunked\r\n\r\n 2\r\n{}\r\n0\r\n\r\n", 400},
	{"space after the chunk size", post + "Transfer-Encoding: chunked\r\n\r\n2 \r\n{}\r\n0\r\n\r\n", 400},
	{"no chunk size", post + "Transfer-Encoding: chunked\r\n\r\n;a=b\r\n{}\r\n0\r\n\r\n", 400},
	{"chunk size over 64 bits", post + "Transfer-Encoding: chunked\r\n\r\n10000000000000002\r\n{}\r\n0\r\n\r\n", 400},
	{"chunk size of 63 bits", post + "Transfer-Encoding: chunked\r\n\r\n7fffffffffffff\r\n{}\r\n0\r\n\r\n", 413},
	{"chunk size before LF alone", post + "Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n", 400},
	{"chunk extension with LF alone", post + "Transfer-Encoding: chunked\r\n\r\n2;\n{}\r\n0\r\n\r\n", 400},
	{"chunk extension with CR alone", post + "Transfer-Encoding: chunked\r\n\r\n2;a\rb\r\n{}\r\n0\r\n\r\n", 400},
	{"chunk extension with NUL", post + "Transfer-Encoding: chunked\r\n\r\n2;a=\x00\r\n{}\r\n0\r\n\r\n", 400},
	{"chunk extension without a semicolon", post + "Transfer-Encoding: chunked\r\n\r\n2 a=b\r\n{}\r\n0\r\n\r\n", 400},
	{"long chunk extension", post + "Transfer-Encoding: chunked\r\n\r\n2;" + strings.Repeat("a", 300) + "\r\n{}\r\n0\r\n\r\n", 400},
	{"endless chunk extension", post + "Transfer-Encoding: chunked\r\n\r\n2;" + strings.Repeat("a", 100_000), 400},
	{"chunk longer than its size", post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}{}\r\n0\r\n\r\n", 400},
	{"chunk before LF alone", post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\n0\r\n\r\n", 400},
	{"trailer without a colon", post + "Transfer-Encoding: chunked\r\n\r\n0\r\nX-A\r\n\r\n", 400},
	{"folded trailer", post + "Transfer-Encoding: chunked\r\n\r\n0\r\nX-A: b\r\n c\r\n\r\n", 400},
	{"trailer before LF alone", post + "Transfer-Encoding: chunked\r\n\r\n0\r\nX-A: b\n\r\n", 400},
	{"endless trailers", post + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("X-A: b\r\n", 2000), 431},
	{"forbidden trailer announced", post + "Trailer: Content-Length\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},

	// The host.
	{"no host", "GET /api/x HTTP/1.1\r\n\r\n", 400},
	{"two hosts", get + "Host: y\r\n\r\n", 400},
	{"two equal hosts", get + "host: x\r\n\r\n", 400},
	{"two hosts in HTTP/1.0", "GET /api/x HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n", 400},
	{"host with a space", "GET /api/x HTTP/1.1\r\nHost: x y\r\n\r\n", 400},
	{"host with a path", "GET /api/x HTTP/1.1\r\nHost: x/y\r\n\r\n", 400},
	{"host with a user", "GET /api/x HTTP/1.1\r\nHost: me@x\r\n\r\n", 400},
	{"list of hosts", "GET /api/x HTTP/1.1\r\nHost: x, y\r\n\r\n", 400},
	{"space before the colon of the host", "GET /api/x HTTP/1.1\r\nHost : x\r\n\r\n", 400},
	{"folded host", "GET /api/x HTTP/1.1\r\nHost:\r\n x\r\n\r\n", 400},
	{"address of another host", "GET http://y/api/x HTTP/1.1\r\nHost: x\r\n\r\n", 400},
	{"address of another port", "GET http://x:81/api/x HTTP/1.1\r\nHost: x\r\n\r\n", 400},
	{"address without a host", "GET http:///api/x HTTP/1.1\r\nHost: x\r\n\r\n", 400},
	{"address with a user", "GET http://me@x/api/x HTTP/1.1\r\nHost: x\r\n\r\n", 400},
	{"address of another scheme", "GET ftp://x/api/x HTTP/1.1\r\nHost: x\r\n\r\n", 400},
	{"address and no host", "GET http://x/api/x HTTP/1.1\r\n\r\n", 400},

	// Headers.
	{"NUL in a value", get + "X-A: a\x00b\r\n\r\n", 400},
	{"NUL in a name", get + "X\x00A: b\r\n\r\n", 400},
	{"bare CR in a value", get + "X-A: a\rb\r\n\r\n", 400},
	{"bare CR in a name", get + "X\rA: b\r\n\r\n", 400},
	{"two CR before LF", get + "X-A: b\r\r\n\r\n", 400},
	{"escape in a value", get + "X-A: \x1b[0m\r\n\r\n", 400},
	{"DEL in a value", get + "X-A: aaaaaaaa\x7f\r\n\r\n", 400},
	{"line without a colon, first", "GET /api/x HTTP/1.1\r\nX\r\nHost: x\r\n\r\n", 400},
	{"line without a colon, last", get + "X\r\n\r\n", 400},
	{"only a line without a colon", "GET /api/x HTTP/1.1\r\nX\r\n\r\n", 400},
	{"no name", get + ": b\r\n\r\n", 400},
	{"space in a name", get + "X A: b\r\n\r\n", 400},
	{"slash in a name", get + "X/A: b\r\n\r\n", 400},
	{"umlaut in a name", get + "X-\xc3\xa4: b\r\n\r\n", 400},
	{"folded value", get + "X-A: b\r\n c\r\n\r\n", 400},
	{"folded value with a colon", get + "X-A: b\r\n X-B: c\r\n\r\n", 400},
	{"folded first line", "GET /api/x HTTP/1.1\r\n Host: x\r\n\r\n", 400},
	{"LF alone", "GET /api/x HTTP/1.1\r\nHost: x\n\r\n", 400},
	{"LF alone everywhere", "GET /api/x HTTP/1.1\nHost: x\n\n", 400},
	{"LF alone at the end", get + "\n", 400},
	{"20 KiB of headers", get + "X-A: " + strings.Repeat("a", 20_000) + "\r\n\r\n", 431},
	{"2,000 headers", get + strings.Repeat("X-A: aaaa\r\n", 2000) + "\r\n", 431},

	// The request line.
	{"HTTP/0.9", "GET /api/x\r\n\r\n", 400},
	{"HTTP/0.9 with headers", "GET /api/x\r\nHost: x\r\n\r\n", 400},
	{"HTTP/1.2", "GET /api/x HTTP/1.2\r\nHost: x\r\n\r\n", 400},
	{"HTTP/2.0", "GET /api/x HTTP/2.0\r\nHost: x\r\n\r\n", 400},
	{"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
	{"HTTP/1", "GET /api/x HTTP/1\r\nHost: x\r\n\r\n", 400},
	{"HTTP/01.1", "GET /api/x HTTP/01.1\r\nHost: x\r\n\r\n", 400},
	{"HTTP/1.1 with a letter", "GET /api/x HTTP/1.1x\r\nHost: x\r\n\r\n", 400},
	{"http/1.1", "GET /api/x http/1.1\r\nHost: x\r\n\r\n", 400},
	{"other protocol", "GET /api/x ICY/1.1\r\nHost: x\r\n\r\n", 400},
	{"two versions", "GET /api/x HTTP/1.1 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
	{"space after the version", "GET /api/x HTTP/1.1 \r\nHost: x\r\n\r\n", 400},
	{"two spaces", "GET  /api/x HTTP/1.1\r\nHost: x\r\n\r\n", 400},
	{"tabs", "GET\t/api/x\tHTTP/1.1\r\nHost: x\r\n\r\n", 400},
	{"space in the path", "GET /api/x y HTTP/1.1\r\nHost: x\r\n\r\n", 400},
	{"NUL in the path", "GET /api/\x00x HTTP/1.1\r\nHost: x\r\n\r\n", 400},
	{"bare CR in the path", "GET /api/\rx HTTP/1.1\r\nHost: x\r\n\r\n", 400},
	{"no path", "GET HTTP/1.1\r\nHost: x\r\n\r\n", 400},
	{"path without a slash", "GET api/x HTTP/1.1\r\nHost: x\r\n\r\n", 400},
	{"asterisk of another method", "GET * HTTP/1.1\r\nHost: x\r\n\r\n", 400},
	{"space before the method", " GET /api/x HTTP/1.1\r\nHost: x\r\n\r\n", 400},
	{"slash in the method", "GE/T /api/x HTTP/1.1\r\nHost: x\r\n\r\n", 400},
	{"two empty lines first", "\r\n\r\n" + get + "\r\n", 400},
	{"empty line of LF first", "\n" + get + "\r\n", 400},
	{"TLS handshake", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400},
	{"SSH", "SSH-2.0-OpenSSH_9.2\r\n", 400},
	{"nonsense", "NONSENSE\r\n\r\n", 400},
}

// unusualShapes are well-formed requests that a strict server must not refuse. Each has the status that its
// route answers.
var unusualShapes = []struct {
	name, request string
	status        int
	body          string // of the answer, if not ""
}{
	{"no body on POST", post + "\r\n", 200, "0"},
	{"length 0", post + "Content-Length: 0\r\n\r\n", 200, "0"},
	{"leading zeros", post + "Content-Length: 0002\r\n\r\n{}", 200, "2"},
	{"spaces around the length", post + "Content-Length:   2  \r\n\r\n{}", 200, "2"},
	{"no space before the length", post + "Content-Length:2\r\n\r\n{}", 200, "2"},
	{"other case", "POST /api/x HTTP/1.1\r\nhOST: x\r\ncONTENT-lENGTH: 2\r\n\r\n{}", 200, "2"},
	{"body on GET", get + "Content-Length: 2\r\n\r\n{}", 200, ""},
	{"chunked body on GET", get + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 200, ""},
	{"body that looks like a request", post + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(hidden), hidden), 200, fmt.Sprint(len(hidden))},
	{"Chunked", post + "Transfer-Encoding: Chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 200, "2"},
	{"spaces around chunked", post + "Transfer-Encoding:  chunked \r\n\r\n2\r\n{}\r\n0\r\n\r\n", 200, "2"},
	{"empty chunked body", post + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, "0"},
	{"many chunks", post + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1\r\na\r\n", 1000) + "0\r\n\r\n", 200, "1000"},
	{"chunk sizes in both cases", post + "Transfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", 200, "20"},
	{"chunk size with zeros", post + "Transfer-Encoding: chunked\r\n\r\n0002\r\n{}\r\n000\r\n\r\n", 200, "2"},
	{"chunk that looks like the last", post + "Transfer-Encoding: chunked\r\n\r\n7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n", 200, "7"},
	{"chunk extension", post + "Transfer-Encoding: chunked\r\n\r\n2;a=b;c=\"d e\"\r\n{}\r\n0;last\r\n\r\n", 200, "2"},
	{"spaces in a chunk extension", post + "Transfer-Encoding: chunked\r\n\r\n2 ; a = b\r\n{}\r\n0\r\n\r\n", 200, "2"},
	{"trailers", post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-A: b\r\nAuthorization: Bearer x\r\n0: c\r\n\r\n", 200, "2"},
	{"expectation", post + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}", 200, "2"},
	{"empty host", "GET /api/x HTTP/1.1\r\nHost:\r\n\r\n", 200, ""},
	{"host with a port", "GET /api/x HTTP/1.1\r\nHost: x.example:8080\r\n\r\n", 200, ""},
	{"host of IPv6", "GET /api/x HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", 200, ""},
	{"host with an underscore", "GET /api/x HTTP/1.1\r\nHost: web_1\r\n\r\n", 200, ""},
	{"host last", "GET /api/x HTTP/1.1\r\nX-A: b\r\nHost: x\r\n\r\n", 200, ""},
	{"whole address", "GET http://x/api/x HTTP/1.1\r\nHost: x\r\n\r\n", 200, ""},
	{"whole address, other case", "GET HTTP://X.example:80/api/x?q HTTP/1.1\r\nHost: x.EXAMPLE:80\r\n\r\n", 200, ""},
	{"OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 404, ""},
	{"CONNECT", "CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n", 404, ""},
	{"unknown method", "BREW /api/x HTTP/1.1\r\nHost: x\r\n\r\n", 405, ""},
	{"token as method", "M-SEARCH!#$ /api/x HTTP/1.1\r\nHost: x\r\n\r\n", 405, ""},
	{"method in lower case", "get /api/x HTTP/1.1\r\nHost: x\r\n\r\n", 405, ""},
	{"empty line first", "\r\n" + get + "\r\n", 200, ""},
	{"HTTP/1.0 kept alive", "GET /api/x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, ""},
	{"empty value", get + "X-A:\r\n\r\n", 200, ""},
	{"tab in a value", get + "X-A:\ta\tb\t\r\n\r\n", 200, ""},
	{"UTF-8 in a value", get + "X-A: \xc3\xa4\r\n\r\n", 200, ""},
	{"Latin-1 in a value", get + "X-A: \xe4\r\n\r\n", 200, ""},
	{"colons in a value", get + "X-A: a: b: c\r\n\r\n", 200, ""},
	{"token as name", get + "!#$%&'*+-.^_`|~09aZ: b\r\n\r\n", 200, ""},
	{"underscore in a name", get + "Content_Length: 60\r\n\r\n", 200, ""},
	{"the same header twice", get + "X-A: b\r\nX-A: c\r\n\r\n", 200, ""},
	{"query with everything", "GET /api/x?a=b&c[]=%00;{}|\\^`\"<>'\xc3\xa4# HTTP/1.1\r\nHost: x\r\n\r\n", 200, ""},
	{"two slashes", "GET //api/x HTTP/1.1\r\nHost: x\r\n\r\n", 404, ""},
	{"100 headers", get + strings.Repeat("X-A: b\r\n", 100) + "\r\n", 200, ""},
	{"TE", get + "TE: trailers, gzip\r\nConnection: TE\r\n\r\n", 200, ""},
	{"upgrade to HTTP/2", get + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n", 200, ""},
}

// wireNode is a server that counts the requests its handlers see.
type wireNode struct {
	*node
	seen, hidden atomic.Int64
}

func runWire(t *testing.T) *wireNode {
	w := &wireNode{}
	w.node = run(t, nil, func(s *Server) {
		answer := func(c *fiber.Ctx) error {
			w.seen.Add(1)
			if len(c.Body()) > 0 && c.Get("Authorization") != "" {
				return errors.New("a trailer became a header")
			}
			return c.SendString(fmt.Sprint(len(c.Body())))
		}
		s.App.Get("/api/x", answer)
		s.App.Post("/api/x", answer)
		s.App.Get("/api/good", ok)
		s.App.Post("/api/hidden", func(c *fiber.Ctx) error { w.hidden.Add(1); return ok(c) })
	})
	return w
}

// exchange writes each piece after the answer to the piece before, and reads all answers until the server
// closes.
func (w *wireNode) exchange(t *testing.T, pieces ...string) (answers []reply) {
	t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	in := bufio.NewReader(conn)
	read := func() bool {
		resp, err := http.ReadResponse(in, nil)
		if err != nil && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
			return false
		}
		if err != nil {
			t.Fatalf("answer %d: %v", len(answers)+1, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, reply{resp, string(body)})
		return true
	}
	for i, piece := range pieces {
		if i > 0 && !read() {
			t.Fatalf("no answer before piece %d", i)
		}
		if _, err := io.WriteString(conn, piece); err != nil {
			t.Fatal(err)
		}
	}
	for read() {
	}
	return answers
}

func TestMalformedShapes(t *testing.T) {
	t.Parallel()
	w := runWire(t)
	if len(malformedShapes) < 70 {
		t.Errorf("only %d shapes", len(malformedShapes))
	}
	const good = "GET /api/good HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, shape := range malformedShapes {
		for way, pieces := range map[string][]string{
			"alone":              {shape.request + hidden},
			"after another":      {good + shape.request + hidden},
			"on a kept-alive":    {good, shape.request + hidden},
			"after another body": {hidden[:len(hidden)-5] + "2\r\n\r\n{}" + shape.request + hidden},
		} {
			t.Run(shape.name+"/"+way, func(t *testing.T) {
				t.Parallel()
				answers := w.exchange(t, pieces...)
				want := 1
				if way != "alone" {
					want = 2
				}
				if len(answers) != want {
					t.Fatalf("%d answers, want %d", len(answers), want)
				}
				last := answers[want-1]
				if last.StatusCode != shape.status || last.code(t) == "" {
					t.Errorf("%d %s", last.StatusCode, last.body)
				}
				if !last.Close {
					t.Error("no Connection: close")
				}
			})
		}
	}
	t.Cleanup(func() { // after the parallel cases
		if n := w.seen.Load(); n > 0 {
			t.Errorf("handlers saw %d malformed requests", n)
		}
		if got, want := w.hidden.Load(), int64(len(malformedShapes)); got != want { // those of "after another body"
			t.Errorf("handlers saw %d requests to /api/hidden, want %d", got, want)
		}
	})
}

// Another request follows each unusual one, so both sides must agree on where the unusual one ends.
func TestUnusualShapes(t *testing.T) {
	t.Parallel()
	w := runWire(t)
	const after = "POST /api/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"
	for _, shape := range unusualShapes {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			answers := w.exchange(t, shape.request+after)
			if len(answers) > 0 && answers[0].StatusCode == 100 {
				answers = answers[1:]
			}
			if len(answers) != 2 || answers[0].StatusCode != shape.status || (shape.body != "" && answers[0].body != shape.body) {
				t.Fatalf("answers %v", answers)
			}
			if answers[1].StatusCode != 200 || answers[1].body != "3" {
				t.Errorf("the request after it: %d %s", answers[1].StatusCode, answers[1].body)
			}
		})
	}
	t.Cleanup(func() {
		if w.hidden.Load() > 0 {
			t.Error("a body was read as a request")
		}
	})
}

// follow passes input through a framing in pieces of the given size in bytes. It returns what fasthttp gets
// and how many requests ended.
func follow(input string, piece int) (f *framing, passed string, requests int) {
	f = &framing{}
	var out bytes.Buffer
	for len(input) > 0 && f.refusal == nil {
		p := []byte(input[:min(piece, len(input))])
		input = input[len(p):]
		for _, b := range p { // one byte at a time, to see each end
			before := f.next
			one := []byte{b}
			out.Write(one[:f.pass(one)])
			if f.next == requestLine && before != requestLine {
				requests++
			}
		}
	}
	return f, out.String(), requests
}

// passWhole passes input at once.
func passWhole(input string, piece int) (f *framing, passed string) {
	f = &framing{}
	var out bytes.Buffer
	for len(input) > 0 && f.refusal == nil {
		p := []byte(input[:min(piece, len(input))])
		input = input[len(p):]
		out.Write(p[:f.pass(p)])
	}
	return f, out.String()
}

// count returns how many requests a parser reads from input. It returns false if the parser refuses one.
func count(input string, read func(*bufio.Reader) error) (n int, ok bool) {
	in := bufio.NewReaderSize(strings.NewReader(input), 1<<20)
	for {
		if _, err := in.Peek(1); err != nil {
			return n, true
		}
		if read(in) != nil {
			return n, false
		}
		n++
	}
}

func withNetHTTP(in *bufio.Reader) error {
	r, err := http.ReadRequest(in)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r.Body)
	return err
}

func withFasthttp(in *bufio.Reader) error {
	var r fasthttp.Request
	if err := r.Header.Read(in); err != nil {
		return err
	}
	return r.ContinueReadBody(in, 1<<20, false)
}

// FuzzFraming checks that the size of the pieces changes nothing, and that a proxy (here net/http) and
// fasthttp see the same requests in the bytes that were passed.
func FuzzFraming(f *testing.F) {
	for _, shape := range malformedShapes {
		f.Add(shape.request+hidden, 1)
	}
	for _, shape := range unusualShapes {
		f.Add(shape.request+hidden, 7)
	}
	f.Fuzz(func(t *testing.T, input string, piece int) {
		piece = max(piece, 1)
		single, passed, requests := follow(input, piece)
		whole, passedWhole := passWhole(input, piece)
		if single.refusal != whole.refusal {
			t.Fatalf("byte by byte %v, in pieces of %d %v", single.refusal, piece, whole.refusal)
		}
		if single.refusal != nil {
			return
		}
		if strings.ReplaceAll(passed, "\r\n", "\n") != strings.ReplaceAll(passedWhole, "\r\n", "\n") {
			t.Fatalf("passed %q, in pieces of %d %q", passed, piece, passedWhole)
		}
		if single.next != requestLine || len(single.line) > 0 || single.blank {
			return // unfinished
		}
		for name, read := range map[string]func(*bufio.Reader) error{"net/http": withNetHTTP, "fasthttp": withFasthttp} {
			if n, ok := count(passedWhole, read); ok && n != requests {
				t.Errorf("%d requests, %s sees %d in %q", requests, name, n, passedWhole)
			}
		}
	})
}

// BenchmarkFraming measures the cost of checking a usual request.
func BenchmarkFraming(b *testing.B) {
	request := []byte("GET /api/intelligence/markets?limit=24 HTTP/1.1\r\nHost: pulsecast.example\r\n" +
		"User-Agent: Forecaster/2.4 (+https://example.org/forecaster)\r\nAccept: application/json\r\n" +
		"Accept-Encoding: gzip, br\r\nConnection: keep-alive\r\nX-Forwarded-For: 203.0.113.7\r\nX-Forwarded-Proto: https\r\n" +
		"If-None-Match: \"0123456789abcdef\"\r\n\r\n")
	var f framing
	b.ReportAllocs()
	b.SetBytes(int64(len(request)))
	for b.Loop() {
		if f.pass(request) != len(request) {
			b.Fatal(f.refusal)
		}
	}
}
