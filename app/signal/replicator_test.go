package signal

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/cache"
	"github.com/pulsecast/pulsecast/app/cache/cachetest"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

func node(db *database.DB, c *cache.Cache) *Replicator[record] {
	return NewReplicator(NewFeed(codec(), (&clock{noon}).now), db, c, slog.New(slog.DiscardHandler))
}

func eachStore(t *testing.T, test func(t *testing.T, db *database.DB, c *cache.Cache)) {
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for _, kind := range cachetest.Kinds {
			t.Run(string(kind), func(t *testing.T) {
				if _, err := db.ExecContext(t.Context(), "DELETE FROM snapshots"); err != nil {
					t.Fatal(err)
				}
				test(t, db, cachetest.Open(t, kind))
			})
		}
	})
}

func publish(t *testing.T, x *Replicator[record], r Reading[record]) {
	t.Helper()
	if err := x.Publish(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func TestNodesShareAndNeverGoBack(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, db *database.DB, c *cache.Cache) {
		a, b := node(db, c), node(db, c)
		if found, err := b.Refresh(t.Context()); found || err != nil {
			t.Fatalf("before the first reading: got %v, %v", found, err)
		}
		publish(t, a, reading(noon.Add(1234567*time.Nanosecond), 5))
		if found, err := b.Refresh(t.Context()); !found || err != nil {
			t.Fatalf("refresh: got %v, %v", found, err)
		}
		if got, want := b.Feed().Current(), a.Feed().Current(); len(got.Records) != 5 || got.Records[4] != want.Records[4] ||
			!got.AsOf.Equal(want.AsOf) || got.Source != "test" || got.Interval != time.Minute || got.tag != want.tag {
			t.Errorf("got %+v", got.Reading)
		}
		if found, err := b.Refresh(t.Context()); found || err != nil {
			t.Errorf("second refresh: got %v, %v", found, err)
		}
		late := node(db, c)
		publish(t, late, reading(noon.Add(-time.Minute), 1))
		restarted := node(db, c)
		if found, err := restarted.Restore(t.Context()); !found || err != nil || len(restarted.Feed().Current().Records) != 5 {
			t.Errorf("restore: got %v, %v: %+v", found, err, restarted.Feed().Current().Reading)
		}
		if found, err := late.Refresh(t.Context()); !found || err != nil || len(late.Feed().Current().Records) != 5 {
			t.Errorf("the late node: got %v, %v", found, err)
		}
	})
}

// TestNodesAfterClockAhead checks that nodes replace the snapshot of a node whose clock was ahead, each its own copy
// and one of them the stored one.
func TestNodesAfterClockAhead(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, db *database.DB, c *cache.Cache) {
		a, b, follower := node(db, c), node(db, c), node(db, c)
		publish(t, a, reading(noon.Add(24*time.Hour), 5))
		for _, x := range []*Replicator[record]{b, follower} {
			if found, err := x.Restore(t.Context()); !found || err != nil || !x.Feed().Stale() {
				t.Fatalf("got %v, %v", found, err)
			}
			if found, err := x.Refresh(t.Context()); found || err != nil {
				t.Fatalf("the same snapshot was loaded again: %v, %v", found, err)
			}
		}
		publish(t, b, reading(noon, 3))
		if found, err := follower.Refresh(t.Context()); !found || err != nil || !follower.Feed().Current().AsOf.Equal(noon) {
			t.Errorf("another node: got %v, %v: the snapshot of %s", found, err, follower.Feed().Current().AsOf)
		}
		restarted := node(db, c)
		if found, err := restarted.Restore(t.Context()); !found || err != nil || !restarted.Feed().Current().AsOf.Equal(noon) {
			t.Errorf("after a restart: got %v, %v: the snapshot of %s", found, err, restarted.Feed().Current().AsOf)
		}
	})
}

func TestSharedThroughTheDatabaseWhileRedisIsDown(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		down, err := cache.Open("unix://"+filepath.Join(t.TempDir(), "none.sock"), "")
		if err != nil {
			t.Fatal(err)
		}
		defer down.Close()
		a, b := node(db, down), node(db, down)
		publish(t, a, reading(noon, 3))
		if found, err := b.Refresh(t.Context()); !found || err != nil {
			t.Errorf("got %v, %v", found, err)
		}
	})
}

func TestSharedThroughRedisWhileTheDatabaseIsDown(t *testing.T) {
	t.Parallel()
	db, err := database.Open(t.Context(), dbtest.URL(t, database.SQLite))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	c := cachetest.Open(t, cache.Redis)
	a, b := node(db, c), node(db, c)
	if err := a.Publish(t.Context(), reading(noon, 3)); err == nil {
		t.Error("got no error from a closed database")
	}
	if n := len(a.Feed().Current().Records); n != 3 {
		t.Errorf("the publishing node serves %d records", n)
	}
	if found, err := b.Refresh(t.Context()); !found || err != nil {
		t.Errorf("got %v, %v", found, err)
	}
}

// TestDamagedSnapshot checks that a stored snapshot which can't be read doesn't keep a node from starting, and gives way to
// the next reading.
func TestDamagedSnapshot(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		x := node(db, cachetest.Open(t, cache.Memory))
		var log bytes.Buffer
		x.log = slog.New(slog.NewTextHandler(&log, nil))
		for _, bad := range [][]byte{{}, []byte("not gzip"), mustPack(t, content[record]{Version: 99})} {
			if _, err := db.NewInsert().Model(&row{Feed: "words", TakenAt: noon, Content: bad}).
				On("CONFLICT (feed) DO UPDATE").Set("content = EXCLUDED.content").Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
			log.Reset()
			if found, err := x.Restore(t.Context()); found || err != nil || !strings.Contains(log.String(), "unusable snapshot of words") {
				t.Errorf("%q: got %v, %v with the log %q", bad, found, err, log.String())
			}
			if found, err := x.Refresh(t.Context()); found || err == nil {
				t.Errorf("%q: refresh: got %v, %v", bad, found, err)
			}
		}
		publish(t, x, reading(noon.Add(time.Minute), 3))
		restarted := node(db, cachetest.Open(t, cache.Memory))
		if found, err := restarted.Restore(t.Context()); !found || err != nil || len(restarted.Feed().Current().Records) != 3 {
			t.Errorf("after the next reading: got %v, %v", found, err)
		}
	})
}

func mustPack(t *testing.T, c content[record]) []byte {
	t.Helper()
	packed, err := packContent(c)
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

func TestFollow(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	c := cachetest.Open(t, cache.Memory)
	outside := answer.New(nil, "")
	outside.SentOften = true
	outside.Form(answer.Zstd) // creates the encoder's channels outside of the bubble
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		a, b := node(db, c), node(db, c)
		done := make(chan struct{})
		go func() { b.Follow(ctx); close(done) }()
		publish(t, a, reading(noon, 3))
		for b.Feed().Current().AsOf.IsZero() {
			time.Sleep(lookEvery)
		}
		cancel()
		<-done
	})
}
