package httpserver

import (
	"bytes"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

const (
	compressFrom = 1 << 10 // bytes; compressing a smaller body saves less than one packet
	brotliLevel  = 4       // the last level before brotli gets slow
	gzipLevel    = 5
)

// compress encodes a text body that its handler didn't encode. Pages of /admin stay uncompressed. If a secret
// (the form token) were compressed together with text that a visitor chose, the length would reveal it.
// A strong ETag becomes weak, because the bytes have changed. MatchesETag compares weakly for this reason.
func compress(fctx *fasthttp.RequestCtx) {
	resp := &fctx.Response
	h := &resp.Header
	if resp.IsBodyStream() || len(resp.Body()) < compressFrom || len(h.ContentEncoding()) > 0 ||
		resp.StatusCode() == fiber.StatusPartialContent || !compressible(h.ContentType()) ||
		private(fctx.URI().PathOriginal()) {
		return
	}
	addVary(h, fiber.HeaderAcceptEncoding)
	coding := AcceptEncoding(fctx, "br", "gzip")
	switch coding {
	case identityCoding:
		return
	case "br":
		resp.SetBodyRaw(fasthttp.AppendBrotliBytesLevel(nil, resp.Body(), brotliLevel))
	default:
		resp.SetBodyRaw(fasthttp.AppendGzipBytesLevel(nil, resp.Body(), gzipLevel))
	}
	h.SetContentEncoding(coding)
	if tag := h.Peek(fiber.HeaderETag); len(tag) > 0 && tag[0] == '"' {
		h.Set(fiber.HeaderETag, "W/"+string(tag))
	}
}

func compressible(contentType []byte) bool {
	media, _, _ := bytes.Cut(contentType, []byte(";"))
	media = bytes.TrimSpace(media)
	return bytes.HasPrefix(media, []byte("text/")) || bytes.HasSuffix(media, []byte("json")) ||
		bytes.HasSuffix(media, []byte("xml")) || bytes.HasSuffix(media, []byte("javascript"))
}
