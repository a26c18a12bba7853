package api_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"
	"time"

	"github.com/gowebpki/jcs"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// shownBeforeReveal are the fields of a record that other agents see before its reveal.
var shownBeforeReveal = map[string]bool{
	"id": true, "agent": true, "market": true, "createdAt": true, "reveal": true, "hash": true,
	"url": true, "hidden": true, "sample": true,
}

// TestWithheldRecord checks that before the reveal other callers get null for every field that the agent
// wrote. The agent gets its whole record with the salt, from which the hash can be recomputed.
func TestWithheldRecord(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		rain := sibling("", "5", 0.4, 10)
		rain.ClosesAt = time.Now().Add(time.Hour)
		s.observe(t, []market.Market{rain})
		ada, bob := s.register(t, "Ada"), s.register(t, "Bob")
		body := forecast(map[string]any{"marketId": "5", "reveal": "close", "title": "Rain – “soon” <b>?", "category": "weather"})
		dry := s.do(t, call{method: "POST", path: "/api/predictions?dryRun=true", bearer: ada, body: body}).fine()
		if dry.text("prediction", "reveal") != "close" || dry.at("prediction", "revealedAt") != nil {
			t.Errorf("dry run: %s", dry.raw)
		}
		mine := s.do(t, call{method: "POST", path: "/api/predictions", bearer: ada, body: body}).fine()
		id, hash := mine.text("prediction", "id"), mine.text("prediction", "hash")
		checkHash(t, mine, "prediction")
		for name, c := range map[string]struct {
			call call
			path []any
		}{
			"record":     {call{path: "/api/predictions/" + id}, []any{"prediction"}},
			"list":       {call{path: "/api/predictions"}, []any{"predictions", 0}},
			"of another": {call{path: "/api/predictions?agent=ada", bearer: bob}, []any{"predictions", 0}},
			"open ones":  {call{path: "/api/predictions?status=open&market=5", bearer: bob}, []any{"predictions", 0}},
			"market":     {call{path: "/api/intelligence/markets/5"}, []any{"predictions", 0}},
		} {
			record := s.do(t, c.call).fine().at(c.path...).(map[string]any)
			for field, value := range record {
				if (value != nil) != shownBeforeReveal[field] {
					t.Errorf("%s: %s is %v", name, field, value)
				}
			}
			if record["hash"] != hash || record["market"].(map[string]any)["outcome"] != nil {
				t.Errorf("%s: %v", name, record)
			}
		}
		for name, c := range map[string]struct {
			call call
			path []any
		}{
			"record": {call{path: "/api/predictions/" + id, bearer: ada}, []any{"prediction"}},
			"list":   {call{path: "/api/predictions?agent=ada", bearer: ada}, []any{"predictions", 0}},
			"market": {call{path: "/api/intelligence/markets/5", bearer: ada}, []any{"predictions", 0}},
		} {
			if got := s.do(t, c.call).fine(); got.at(append(c.path, "revealedAt")...) != nil {
				t.Errorf("%s: revealed in %s", name, got.raw)
			} else {
				checkHash(t, got, c.path...)
			}
		}
		for _, path := range []string{"/api/predictions?q=rain", "/api/predictions?category=weather"} {
			if n := s.do(t, call{path: path, bearer: ada}).fine().count("predictions"); n != 0 {
				t.Errorf("%s finds %d", path, n)
			}
		}
		if got := s.do(t, call{path: "/api/intelligence/markets/5"}).fine().at("consensus"); got != nil {
			t.Errorf("consensus %v", got)
		}
		again := s.do(t, call{method: "POST", path: "/api/predictions", bearer: ada, body: forecast(map[string]any{"marketId": "5"})})
		again.refused(422, "invalid_prediction")
		again = s.do(t, call{method: "POST", path: "/api/predictions", bearer: ada, body: forecast(map[string]any{"marketId": "5", "reveal": "later"})})
		again.refused(422, "invalid_prediction")

		rain.Closed, rain.Active, rain.ObservedAt = true, false, time.Now()
		s.observe(t, []market.Market{rain})
		hidden := func() (n int64) { // moves when copies in memory may hold texts that were hidden
			t.Helper()
			if err := s.DB.NewRaw("SELECT COALESCE(SUM(value), 0) FROM generations WHERE topic = 'texts'").Scan(t.Context(), &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := hidden()
		if got := s.do(t, call{path: "/api/predictions/" + id, bearer: bob}).fine(); got.at("prediction", "title") != nil {
			t.Errorf("shown before the reveal: %s", got.raw)
		}
		s.reveal(t) // ends the copy that bob got
		if hidden() != before {
			t.Error("a reveal drops all copies in memory, as if it had hidden a text")
		}
		checkHash(t, s.do(t, call{path: "/api/predictions/" + id, bearer: bob}).fine(), "prediction")
		if n := s.do(t, call{path: "/api/predictions?q=soon"}).fine().count("predictions"); n != 1 {
			t.Errorf("a search finds %d after the reveal", n)
		}
	})
}

// TestPublishKeepsOtherRecords checks that the copy of one prediction stays in memory when another is published, and
// not when a result changes.
func TestPublishKeepsOtherRecords(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		ada, bob := s.register(t, "Ada"), s.register(t, "Bob")
		publish := func(title string) string {
			t.Helper()
			body := forecast(map[string]any{"title": title})
			return s.do(t, call{method: "POST", path: "/api/predictions", bearer: ada, body: body}).fine().text("prediction", "id")
		}
		id := publish("It rains")
		title := func(want string) {
			t.Helper()
			got := s.do(t, call{path: "/api/predictions/" + id, bearer: bob}).fine().text("prediction", "title")
			if got != want {
				t.Errorf("the title is %q, want %q", got, want)
			}
		}
		title("It rains")
		if _, err := s.DB.ExecContext(t.Context(), "UPDATE predictions SET title = 'It snows'"); err != nil {
			t.Fatal(err)
		}
		publish("It is windy")
		title("It rains") // the copy
		err := s.DB.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return generation.Move(ctx, tx, generation.Results) })
		if err != nil {
			t.Fatal(err)
		}
		title("It snows")
	})
}

// reveal does the worker's regular job of revealing predictions, which runs every two seconds.
func (s *service) reveal(t *testing.T) {
	t.Helper()
	db, err := database.Open(t.Context(), s.Config().DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := prediction.RevealDue(t.Context(), db, time.Now()); err != nil {
		t.Fatal(err)
	}
}

// checkHash recomputes the hash of a record from its other fields.
func checkHash(t *testing.T, a answer, path ...any) {
	t.Helper()
	record := a.at(path...).(map[string]any)
	said := map[string]any{"outcome": record["market"].(map[string]any)["outcome"]}
	for _, field := range []string{"title", "thesis", "confidence", "horizonAt", "category", "model"} {
		said[field] = record[field]
	}
	evidence := []any{}
	for _, e := range record["evidence"].([]any) {
		evidence = append(evidence, map[string]any{"title": e.(map[string]any)["title"], "url": e.(map[string]any)["url"]})
	}
	said["evidence"] = evidence
	raw, err := json.Marshal(said)
	if err == nil {
		raw, err = jcs.Transform(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	salt, _ := record["salt"].(string)
	sum := sha256.Sum256(append([]byte(salt), raw...))
	if len(salt) != 64 || hex.EncodeToString(sum[:]) != record["hash"] {
		t.Errorf("%v: the hash isn't that of %s", record, raw)
	}
}
