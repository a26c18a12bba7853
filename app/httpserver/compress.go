package httpserver

import (
	"bytes"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/answer"
)

// PreferredCoding returns the coding of answer.Codings that a request prefers.
func PreferredCoding(fctx *fasthttp.RequestCtx) string {
	return AcceptEncoding(fctx, answer.Codings...)
}

// QuickCoding returns the coding of answer.QuickCodings that a request prefers.
func QuickCoding(fctx *fasthttp.RequestCtx) string {
	return AcceptEncoding(fctx, answer.QuickCodings...)
}

// Preferred returns the form of an answer in a coding. A small body isn't compressed.
func Preferred(a *answer.Answer, coding string) *answer.Form {
	if plain := a.Form(answer.Identity); len(plain.Body) < answer.CompressFrom {
		return plain
	}
	return a.Form(coding)
}

// compress encodes a text body that its handler didn't encode. Pages of /admin stay uncompressed. If a secret
// (the form token) were compressed together with text that a visitor chose, the length would reveal it.
// A strong ETag becomes weak, because the bytes have changed. MatchesETag compares weakly for this reason.
func compress(fctx *fasthttp.RequestCtx) {
	resp := &fctx.Response
	h := &resp.Header
	if resp.IsBodyStream() || len(resp.Body()) < answer.CompressFrom || len(h.ContentEncoding()) > 0 ||
		resp.StatusCode() == fiber.StatusPartialContent || !compressible(h.ContentType()) ||
		private(fctx.URI().PathOriginal()) {
		return
	}
	addVary(h, fiber.HeaderAcceptEncoding)
	coding := QuickCoding(fctx)
	if coding == answer.Identity {
		return
	}
	resp.SetBodyRaw(answer.Compress(resp.Body(), coding))
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
