package httpserver

import (
	"bytes"
	"testing"

	"github.com/valyala/fasthttp"
)

func TestNegotiate(t *testing.T) {
	t.Parallel()
	offered := []string{"br", "zstd", "gzip"}
	for header, want := range map[string]string{
		"":                               "",
		"gzip":                           "gzip",
		"GZip ":                          "gzip",
		"x-gzip":                         "gzip",
		"gzip, deflate, br, zstd":        "br",
		"gzip, zstd":                     "zstd",
		"gzip;q=1.0, br;q=0.9":           "gzip",
		"br;q=0, gzip;q=0.001":           "gzip",
		"br; q=0.5 , gzip ;q=0.500":      "br",
		"br;q=0.5,\tGZIP\t;\tQ=0.8":      "gzip",
		"gzip;q=1.000, br;q=0.":          "gzip",
		"*":                              "br",
		"br;q=0, *":                      "zstd",
		"*;q=0.1, gzip;q=0.2":            "gzip",
		"*;q=0.2, gzip;q=0.1":            "br",
		"*;q=0":                          "",
		"*;q=0, gzip":                    "gzip",
		"identity":                       "",
		"identity;q=0.5, gzip":           "gzip",
		"identity, gzip":                 "gzip",
		"identity, gzip;q=0.5":           "",
		"identity;q=0.8, *;q=0.5":        "",
		"identity;q=0":                   "", // a refusal would help no client
		"identity;q=0, gzip;q=0.1":       "gzip",
		"identity;q=0, *;q=0.1":          "br",
		"deflate":                        "",
		"deflate, brx":                   "",
		"br;q=0.000, zstd;q=0, gzip;q=0": "",

		// Elements that don't follow the grammar are ignored.
		"gzip;q=abc":                 "",
		"gzip;q=":                    "",
		"gzip;q":                     "",
		"gzip;":                      "",
		"gzip;q=2":                   "",
		"gzip;q=-0.1":                "",
		"gzip;q=1.001":               "",
		"gzip;q=1.999":               "",
		"gzip;q=0.1234":              "",
		"gzip;q=.5":                  "",
		"gzip;q=0,5":                 "",
		"gzip;q=1e0":                 "",
		"gzip;q=0x1":                 "",
		"gzip;foo=1;q=0":             "",
		"gzip;q=1;foo=1":             "",
		"gzip br":                    "",
		";q=1":                       "",
		"*;q=abc":                    "",
		"identity;q=abc, gzip;q=0.1": "gzip",
		"br;q=abc, gzip;q=0.1":       "gzip",
		",,;q=,gzip":                 "gzip",
	} {
		if got := Negotiate([]byte(header), offered...); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
	if got := Negotiate([]byte("gzip, br")); got != "" {
		t.Errorf("nothing offered: %q", got)
	}
}

func TestMatchesETag(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"": false, `"a,b"`: true, `W/"a,b"`: true, "*": true, " * ": true,
		`"x", "a,b"`: true, `"x","y"`: false, `W/"x" , W/"a,b" `: true, `a,b`: false,
		`"a,b`: false, `"x" "a,b"`: false, `,"a,b",`: true, `w/"a,b"`: false, `"A,B"`: false, `"x", *`: false,
	} {
		for _, tag := range []string{`"a,b"`, `W/"a,b"`} {
			if got := MatchesETag([]byte(header), tag); got != want {
				t.Errorf("%q and %s: %v, want %v", header, tag, got, want)
			}
		}
	}
}

func FuzzMatchesETag(f *testing.F) {
	f.Add(`"x", W/"a"`, "a")
	f.Add("*", "")
	f.Fuzz(func(t *testing.T, header, tag string) {
		Negotiate([]byte(header), "br", "gzip")
		got := MatchesETag([]byte(header), `"`+tag+`"`)
		if got && !bytes.Contains([]byte(header), []byte(`"`+tag+`"`)) && string(bytes.Trim([]byte(header), " \t")) != "*" {
			t.Errorf("%q matches %q", header, tag)
		}
	})
}

func TestRespond(t *testing.T) {
	t.Parallel()
	r := Representation{
		Body: []byte("packed"), Coding: "gzip", ContentType: "text/plain", CacheControl: "public, max-age=5", ETag: `"a-gzip"`,
	}
	for _, tt := range []struct {
		name, ifNoneMatch, vary string
		etag                    string
		status                  int
		body, wantVary          string
	}{
		{"whole", "", "", `"a-gzip"`, 200, "packed", "Accept-Encoding"},
		{"other tag", `"a"`, "Origin", `"a-gzip"`, 200, "packed", "Origin, Accept-Encoding"},
		{"same tag", `"x", W/"a-gzip"`, "", `"a-gzip"`, 304, "", "Accept-Encoding"},
		{"weak tag", `"a-gzip"`, "accept-encoding", `W/"a-gzip"`, 304, "", "accept-encoding"},
		{"without a tag", `*`, "*", "", 200, "packed", "*"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var ctx fasthttp.RequestCtx
			if tt.ifNoneMatch != "" {
				ctx.Request.Header.Set("If-None-Match", tt.ifNoneMatch)
			}
			if tt.vary != "" {
				ctx.Response.Header.Set("Vary", tt.vary)
			}
			r := r
			r.ETag = tt.etag
			Respond(&ctx, r)
			h := &ctx.Response.Header
			if ctx.Response.StatusCode() != tt.status || string(ctx.Response.Body()) != tt.body {
				t.Errorf("%d %q", ctx.Response.StatusCode(), ctx.Response.Body())
			}
			if string(h.Peek("ETag")) != tt.etag || string(h.Peek("Vary")) != tt.wantVary || string(h.Peek("Cache-Control")) != r.CacheControl {
				t.Errorf("headers %s", h)
			}
			if tt.status == 200 && (string(h.ContentEncoding()) != "gzip" || string(h.ContentType()) != "text/plain") {
				t.Errorf("headers %s", h)
			}
		})
	}
}

func TestNegotiationAllocatesNothing(t *testing.T) {
	ctx := new(fasthttp.RequestCtx)
	body := []byte("body")
	if n := testing.AllocsPerRun(1000, func() {
		ctx.Request.Reset()
		ctx.Response.Reset()
		ctx.Request.Header.Set("Accept-Encoding", "gzip;q=0.5, deflate, br, zstd;q=0.9")
		ctx.Request.Header.Set("If-None-Match", `"x", "y"`)
		coding := AcceptEncoding(ctx, "zstd", "br", "gzip")
		Respond(ctx, Representation{Body: body, Coding: coding, ContentType: "text/plain", CacheControl: "no-cache", ETag: `"z"`})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if got := string(ctx.Response.Header.ContentEncoding()); got != "br" {
		t.Error(got)
	}
}
