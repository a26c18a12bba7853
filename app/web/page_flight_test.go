package web

import (
	"fmt"
	"io"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/httpserver"
)

// TestOneMakesAPage checks that many requests for an old page cause one rendering, and that only
// the request that renders waits.
func TestOneMakesAPage(t *testing.T) {
	t.Parallel()
	var age atomic.Int64 // seconds
	begun, goOn := make(chan int64), make(chan bool)
	var made atomic.Int64
	app := fiber.New()
	cache := newPageCache("http://pulse.test", 8, func() time.Time { return time.Unix(age.Load(), 0) })
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

// always is a route that admits all requests.
func always(h fiber.Handler) route {
	return route{
		handler: alone(h), fresh: pageFresh, cost: costOfPage,
		admit: func(*fiber.Ctx, httpserver.Cost) (func(), error) { return func() {}, nil },
	}
}
