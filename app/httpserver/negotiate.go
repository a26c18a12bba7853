package httpserver

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

const (
	identityCoding = "" // the body as it is
	// maxOffered is the most codings that Negotiate compares.
	maxOffered = 4
	// fullWeight is the weight of a coding named without one. Weights are in thousandths.
	fullWeight = 1000
	// unlisted marks a coding that the header doesn't name.
	unlisted = -1
)

// A Representation is a body in one content coding, with the headers that depend on it.
type Representation struct {
	Body         []byte
	Coding       string // the Content-Encoding; "" for none
	ContentType  string
	CacheControl string
	ETag         string // quoted, weak or strong; "" for none
}

// Respond sends a representation that was chosen by Accept-Encoding, or 304 if the request's If-None-Match
// names its ETag. It doesn't copy the body and doesn't allocate. The server removes the body of an answer
// to HEAD.
func Respond(ctx *fasthttp.RequestCtx, r Representation) {
	h := &ctx.Response.Header
	h.Set(fiber.HeaderCacheControl, r.CacheControl)
	addVary(h, fiber.HeaderAcceptEncoding)
	if r.ETag != "" {
		h.Set(fiber.HeaderETag, r.ETag)
		if MatchesETag(ctx.Request.Header.Peek(fiber.HeaderIfNoneMatch), r.ETag) {
			ctx.Response.ResetBody()
			ctx.Response.SetStatusCode(fiber.StatusNotModified)
			return
		}
	}
	h.SetContentType(r.ContentType)
	if r.Coding != identityCoding {
		h.SetContentEncoding(r.Coding)
	}
	ctx.Response.SetBodyRaw(r.Body)
}

// AcceptEncoding returns the offered coding that a request prefers. See Negotiate.
func AcceptEncoding(ctx *fasthttp.RequestCtx, offered ...string) string {
	return Negotiate(ctx.Request.Header.Peek(fiber.HeaderAcceptEncoding), offered...)
}

// Negotiate returns the offered content coding with the highest weight in an Accept-Encoding header (RFC
// 9110, section 12.5.3), or "" for the unencoded body. Between equal weights the coding offered first wins,
// and every coding wins over the unencoded body. "*" stands for every coding that the header doesn't name.
// Elements that don't follow the grammar are ignored. If the header accepts no offered coding, Negotiate
// returns "", since every client can read the unencoded body. At most four codings can be offered.
// Negotiate doesn't allocate.
func Negotiate(accept []byte, offered ...string) string {
	weights := [maxOffered]int{unlisted, unlisted, unlisted, unlisted}
	identity, others := unlisted, unlisted
	for len(accept) > 0 {
		var element []byte
		element, accept, _ = bytes.Cut(accept, []byte(","))
		name, weight, ok := parseElement(element)
		if !ok {
			continue
		}
		switch {
		case string(name) == "*":
			others = weight
		case sameCoding(name, "identity"):
			identity = weight
		default:
			for i, coding := range offered {
				if sameCoding(name, coding) {
					weights[i] = weight
				}
			}
		}
	}
	best, bestWeight := identityCoding, identity
	if identity == unlisted {
		bestWeight = max(others, 0) // acceptable, but after every coding that is asked for
	}
	// From the last to the first, so that the earlier of two equals wins.
	for i := len(offered) - 1; i >= 0; i-- {
		weight := weights[i]
		if weight == unlisted {
			weight = others
		}
		if weight > 0 && weight >= bestWeight {
			best, bestWeight = offered[i], weight
		}
	}
	return best
}

// parseElement reads an element such as "gzip;q=0.5".
func parseElement(element []byte) (name []byte, weight int, ok bool) {
	name, parameter, weighted := bytes.Cut(element, []byte(";"))
	name = bytes.Trim(name, " \t")
	if !weighted {
		return name, fullWeight, len(name) > 0
	}
	parameter = bytes.Trim(parameter, " \t")
	if len(parameter) < 3 || parameter[0]|0x20 != 'q' || parameter[1] != '=' {
		return nil, 0, false
	}
	weight, ok = parseWeight(parameter[2:])
	return name, weight, ok && len(name) > 0
}

// parseWeight reads a qvalue: "0" or "1" with at most three decimals, at most 1.
func parseWeight(b []byte) (weight int, ok bool) {
	if len(b) > 5 || (b[0] != '0' && b[0] != '1') || (len(b) > 1 && b[1] != '.') {
		return 0, false
	}
	weight = int(b[0]-'0') * fullWeight
	place := fullWeight / 10
	for _, c := range b[min(2, len(b)):] {
		if c < '0' || c > '9' {
			return 0, false
		}
		weight += int(c-'0') * place
		place /= 10
	}
	return weight, weight <= fullWeight
}

// sameCoding compares a coding's name without case; x-gzip is another name of gzip.
func sameCoding(name []byte, coding string) bool {
	if len(name) > 2 && name[0]|0x20 == 'x' && name[1] == '-' && coding == "gzip" {
		name = name[2:]
	}
	return len(name) == len(coding) && bytes.EqualFold(name, []byte(coding))
}

// StaleCaching is the Cache-Control of an answer marked by MarkStale. No cache may store it.
const StaleCaching = "no-store"

// MarkStale marks an answer as the last good copy, which is sent because no newer one can be made now. age
// is the age of the copy (RFC 9111, section 5.1). Cache-Status says why it is sent (RFC 9211): its negative
// ttl means that the copy is stale.
func MarkStale(ctx *fasthttp.RequestCtx, age time.Duration) {
	old := strconv.Itoa(max(int(age.Seconds()), 1))
	ctx.Response.Header.Set(fiber.HeaderAge, old)
	ctx.Response.Header.Set("Cache-Status", "pulsecast; hit; ttl=-"+old+"; detail=unavailable")
}

// StaleAge returns the age in seconds of an answer marked by MarkStale. ok is false for any other answer.
func StaleAge(h *fasthttp.ResponseHeader) (seconds string, ok bool) {
	if !bytes.HasSuffix(h.Peek("Cache-Status"), []byte("; detail=unavailable")) {
		return "", false
	}
	return string(h.Peek(fiber.HeaderAge)), true
}

// MatchesETag reports whether an If-None-Match header names an entity tag (RFC 9110, section 13.1.2): "*",
// or a list of tags, which may be weak and may contain commas. The comparison is weak. A malformed header
// matches nothing, so its sender gets the whole answer. MatchesETag doesn't allocate.
func MatchesETag(header []byte, etag string) bool {
	etag = strings.TrimPrefix(etag, "W/")
	rest := bytes.Trim(header, " \t")
	if string(rest) == "*" {
		return true
	}
	for len(rest) > 0 {
		rest = bytes.TrimPrefix(bytes.TrimLeft(rest, " \t,"), []byte("W/"))
		if len(rest) == 0 || rest[0] != '"' {
			return false
		}
		end := bytes.IndexByte(rest[1:], '"')
		if end < 0 {
			return false
		}
		if string(rest[:end+2]) == etag {
			return true
		}
		rest = bytes.TrimLeft(rest[end+2:], " \t")
		if len(rest) > 0 && rest[0] != ',' {
			return false
		}
	}
	return false
}

// addVary adds a request header to Vary unless Vary already names it.
func addVary(h *fasthttp.ResponseHeader, name string) {
	vary := h.Peek(fiber.HeaderVary)
	if len(vary) == 0 {
		h.Set(fiber.HeaderVary, name)
		return
	}
	for part := range bytes.SplitSeq(vary, []byte(",")) {
		if part = bytes.TrimSpace(part); bytes.EqualFold(part, []byte(name)) || string(part) == "*" {
			return
		}
	}
	h.Set(fiber.HeaderVary, string(vary)+", "+name)
}
