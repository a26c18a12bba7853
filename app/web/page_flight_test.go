package web

import (
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/views/layouts"
)

// TestOneMakesAPage checks that many requests for an old page cause one rendering, and that only
// the request that renders waits.
func TestOneMakesAPage(t *testing.T) {
	t.Parallel()
	var age atomic.Int64 // seconds
	begun, goOn := make(chan int64), make(chan bool)
	var made atomic.Int64
	app := fiber.New()
	cache := newPageCache("http://pulse.test", pageBounds, still, func() time.Time { return time.Unix(age.Load(), 0) })
	app.Get("/", cache.wrap(always(func(c *fiber.Ctx) error {
		n := made.Add(1)
		begun <- n
		if !<-goOn {
			return fiber.ErrServiceUnavailable
		}
		return c.SendString(fmt.Sprint("page ", n))
	})))
	get := func() <-chan string {
		answer := make(chan string, 1)
		go func() {
			res, err := app.Test(httptest.NewRequest("GET", "/", nil), -1)
			if err != nil {
				answer <- err.Error()
				return
			}
			body, err := io.ReadAll(res.Body)
			answer <- fmt.Sprint(res.StatusCode, " ", string(body), err)
		}()
		return answer
	}
	want := func(answer <-chan string, text string) {
		t.Helper()
		if got := <-answer; got != text+"<nil>" {
			t.Errorf("%s, want %s", got, text)
		}
	}
	first := get()
	<-begun
	second := get() // the cache is empty, so the request waits for the page or finds it
	goOn <- true
	want(first, "200 page 1")
	want(second, "200 page 1")

	age.Store(3)
	maker := get()
	<-begun
	want(get(), "200 page 1") // the old page, while another request renders
	goOn <- true
	want(maker, "200 page 2")
	want(get(), "200 page 2")

	age.Store(60) // too old to be shown
	maker = get()
	<-begun
	other := get()
	goOn <- false
	want(maker, "503 Service Unavailable")
	<-begun // failures are not cached, so the other request calls the handler too
	goOn <- true
	want(other, "200 page 4")
	if n := made.Load(); n != 4 {
		t.Errorf("made %d times", n)
	}
}

// TestCrawl checks that a crawl of all pages, even one that reads each page twice and in every form,
// leaves the last good copies of the main pages, and that hidden texts leave none.
func TestCrawl(t *testing.T) {
	t.Parallel()
	now := time.Unix(1, 0)
	gone := false
	app := fiber.New()
	cache := newPageCache("http://pulse.test", answer.Bounds{Main: 64 << 10, Once: 128 << 10, Again: 256 << 10}, still, func() time.Time { return now })
	route := always(func(c *fiber.Ctx) error {
		if gone {
			return database.ErrUnanswered
		}
		c.Set("Content-Type", fiber.MIMETextHTMLCharsetUTF8)
		return c.SendString("<html><body>" + layouts.BannersStart + "<main>" + c.Path() + strings.Repeat("a page of words", 300) + "</main>")
	})
	app.Get("/", cache.wrap(route))
	app.Get("/markets/:id", cache.wrap(route))
	get := func(path, accept string) (status int, body string) {
		t.Helper()
		req := httptest.NewRequest("GET", path, nil)
		req.Header.Set("Accept", accept)
		res, err := app.Test(req, -1)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	html, markdown := "text/html", "text/markdown"
	get("/", html)
	get("/", html)
	for i := range 1000 {
		for range 2 {
			get(fmt.Sprint("/markets/", i), html)
			get(fmt.Sprint("/markets/", i), markdown)
		}
	}
	gone, now = true, now.Add(time.Hour)
	for range 2 {
		for _, accept := range []string{html, markdown} {
			if status, body := get("/", accept); status != 200 || !strings.Contains(body, layouts.OutOfDate) {
				t.Errorf("after a crawl, the last good copy of the home page as %s: %d %.200s", accept, status, body)
			}
		}
	}
	if status, _ := get("/markets/999", html); status != 200 {
		t.Errorf("the last good copy of the newest page: %d", status)
	}
	if status, _ := get("/markets/1", html); status != 500 {
		t.Errorf("the copies of all pages fit into the bounds: %d", status)
	}
	cache.forget()
	if status, _ := get("/", html); status != 500 {
		t.Errorf("a copy from before a text was hidden: %d", status)
	}
}

// still returns topics that never move.
func still(bool) generation.Side {
	return generation.Side{Stamp: &generation.Stamp{}, Primary: &generation.Stamp{}, Exact: true}
}

// always is a route that admits all requests.
func always(h fiber.Handler) route {
	return route{
		handler: alone(h), fresh: pageFresh, cost: costOfPage,
		admit: func(*fiber.Ctx, httpserver.Cost) (*httpserver.Admission, error) { return &httpserver.Admission{}, nil },
	}
}
