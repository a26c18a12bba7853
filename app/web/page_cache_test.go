package web_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

func TestKeptPages(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	rows := func(path string, header http.Header) (int, reply) {
		r := h.do("GET", path, nil, header)
		return r.doc.Find("tbody tr").Length(), r
	}
	if n, _ := rows("/predictions", nil); n != 0 {
		t.Fatalf("%d rows in an empty list", n)
	}
	h.publish("Will it rain in Oslo?", "1", 0.7)
	if n, _ := rows("/predictions", nil); n != 0 {
		t.Error("the page was made again at once")
	}
	if n, _ := rows("/predictions?status=open", nil); n != 1 {
		t.Error("another address shows the cached page of this one")
	}
	h.now = start.Add(3 * time.Second)
	n, r := rows("/predictions", nil)
	if n != 1 {
		t.Error("the page is cached for too long")
	}
	tag := r.header.Get("ETag")
	if _, again := rows("/predictions", http.Header{"If-None-Match": {tag}}); again.status != 304 || again.body != "" || again.header.Get("ETag") != tag {
		t.Errorf("%d with %s", again.status, again.header.Get("ETag"))
	}
	if _, packed := rows("/predictions", http.Header{"Accept-Encoding": {"gzip, br"}}); packed.header.Get("Content-Encoding") != "gzip" || len(packed.body) >= len(r.body) {
		t.Errorf("%d of %d bytes, %q", len(packed.body), len(r.body), packed.header.Get("Content-Encoding"))
	}
}
