package api

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
)

// TestCompressingTakesAPlace checks that an answer is compressed before its request leaves its place, since
// compressing takes as long as reading. Only an answer that most readers get is compressed with more effort.
func TestCompressingTakesAPlace(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cost  httpserver.Cost
		left  int
		often bool
	}{
		"of one reader": {httpserver.Listing, 1, false},
		"of all":        {httpserver.Shared, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &API{Now: time.Now, Changes: generation.NewWatcher(nil, slog.Default())}
			a.answers = answer.NewCache(answer.Options{Side: a.Changes.Side, Now: a.Now, Bounds: answerBounds})
			body := make([]byte, 2*answer.CompressFrom)
			made := answer.New(body, "x")
			left := 0
			a.admit = func(*fiber.Ctx, httpserver.Cost) (*httpserver.Admission, error) {
				return httpserver.NewAdmission(func() {
					if left++; made.Size() <= len(body) {
						t.Error("the request leaves its place before the answer is compressed")
					}
				}), nil
			}
			app := fiber.New()
			app.Get("/", func(c *fiber.Ctx) error {
				found, err := a.load(c, &answer.Query{Key: "a"}, a.admit, tt.cost, func(context.Context) (*answer.Answer, error) { return made, nil })
				if err == nil {
					sendAnswer(c, found, sharedCaching)
				}
				return err
			})
			req := httptest.NewRequest("GET", "/", nil)
			req.Header.Set("Accept-Encoding", answer.Gzip)
			res, err := app.Test(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if coding := res.Header.Get("Content-Encoding"); coding != answer.Gzip || left != tt.left || made.SentOften != tt.often {
				t.Errorf("coding %q, left %d times, sent often: %t", coding, left, made.SentOften)
			}
		})
	}
}
