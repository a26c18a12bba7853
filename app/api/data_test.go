package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/release"
)

// TestData reads the data release of a service over HTTP in three ways: with plain requests, as an
// archive.Storage, and from another language.
func TestData(t *testing.T) {
	t.Parallel()
	s, _ := sampleService(t, &clock{})
	file := "/api/data/days/2026-11-18/ledger.parquet"
	whole := s.do(t, call{method: http.MethodGet, path: file})
	if whole.status != http.StatusOK || whole.header.Get("ETag") != `"`+archive.Hash(whole.raw)+`"` {
		t.Fatalf("%d, ETag %s", whole.status, whole.header.Get("ETag"))
	}
	for _, c := range []struct {
		path   string
		header map[string]string
		status int
		body   []byte // nil: not compared
	}{
		{file, map[string]string{"Range": "bytes=10-29"}, 206, whole.raw[10:30]},
		{file, map[string]string{"Range": "bytes=-4"}, 206, whole.raw[len(whole.raw)-4:]},
		{file, map[string]string{"Range": "bytes=10-29", "If-Range": `"another"`}, 200, whole.raw},
		{file, map[string]string{"Range": "bytes=99999999-"}, 416, nil},
		{file, map[string]string{"Range": "bytes=0-0," + strings.Repeat("1-2,", 500) + "3-4"}, 416, nil},
		{file, map[string]string{"Range": "bytes=0-99999999999999999999"}, 416, nil},
		{file, map[string]string{"Range": "bytes=5-1"}, 416, nil},
		{file, map[string]string{"If-None-Match": whole.header.Get("ETag")}, 304, nil},
		{"/api/data/days/2026-11-18/segments.json", nil, 404, nil},
		{"/api/data/days/2026-11-19/ledger.parquet", nil, 404, nil},
		{"/api/data/days/2026-11-18/..%2F2026-11-18%2Fledger.parquet", nil, 404, nil},
		{"/api/data?cursor=x", nil, 400, nil},
		{"/api/data?cursor=" + cursor.Encode("day", "\x00"), nil, 400, nil},
		{"/api/data?cursor=" + cursor.Encode("day", "tomorrow"), nil, 400, nil},
		{"/api/intelligence/markets/sample-145/prices?from=2026-10-01T00:00:00Z", nil, 400, nil},
		{"/api/intelligence/markets/sample-145/prices?every=7s", nil, 400, nil},
		{"/api/intelligence/markets/none/prices", nil, 404, nil},
	} {
		a := s.do(t, call{method: http.MethodGet, path: c.path, header: c.header})
		if a.status != c.status || c.body != nil && string(a.raw) != string(c.body) {
			t.Errorf("%s %v: %d, %d bytes", c.path, c.header, a.status, len(a.raw))
		}
	}
	prices := s.do(t, call{method: http.MethodGet, path: "/api/intelligence/markets/sample-145/prices?from=2026-11-18T00:00:00Z&to=2026-11-19T00:00:00Z"})
	if list, _ := prices.json["prices"].([]any); len(list) != 1 || prices.json["full"] != true {
		t.Errorf("the sealed reading: %s", prices.raw)
	}
	checkRemote(t, s)
	folder := strings.TrimPrefix(s.Config().ArchiveURL, "file://")
	checkTampered(t, folder)
	checkManyRedactions(t, s, folder)
	recomputeElsewhere(t, folder)
}

// dayReads counts the queries for sealed days with a limit.
type dayReads struct {
	limit string
	n     atomic.Int64
}

func (d *dayReads) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (d *dayReads) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	if strings.Contains(e.Query, "archive_days") && strings.Contains(e.Query, d.limit) {
		d.n.Add(1)
	}
}

// TestDataIsKept checks that the list of days is read once, and again as soon as a day is sealed.
func TestDataIsKept(t *testing.T) {
	t.Parallel()
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			read := &dayReads{limit: "LIMIT 25"}
			s := run(t, configure(t, b, func(c *config.Config) { c.ArchiveURL = "file://" + t.TempDir() }), app.Options{
				Now: (&clock{}).now, Queries: read,
			})
			key := s.register(t, "Ada")
			for range 3 {
				if a := s.do(t, call{path: "/api/data"}).fine(); a.count("days") != 0 {
					t.Fatalf("%s", a.raw)
				}
			}
			if n := read.n.Load(); n != 1 {
				t.Errorf("%d queries for three equal requests", n)
			}
			sealSample(t, s.App)
			if a := s.do(t, call{path: "/api/data", bearer: key}).fine(); a.count("days") == 0 {
				t.Errorf("the sealed day is missing: %s", a.raw)
			}
		})
	}
}

// TestDataAfterARestore checks that the list of days and its page name the abandoned days. A day that is abandoned
// itself abandons no others.
func TestDataAfterARestore(t *testing.T) {
	t.Parallel()
	cfg := configure(t, backends[0], func(c *config.Config) {
		c.ArchiveURL, c.DatabaseURL = "file://"+t.TempDir(), sampleURL(t, database.SQLite)
	})
	s := run(t, cfg, app.Options{Now: (&clock{}).now}, func(a *app.App) {
		sealSample(t, a)
		if _, err := a.DB.ExecContext(t.Context(), "UPDATE archive_days SET abandoned = TRUE"); err != nil {
			t.Fatal(err)
		}
		sealDay(t, a, "2026-11-19")
		// The database is restored again, from a backup made before the first restore.
		if _, err := a.DB.ExecContext(t.Context(), "UPDATE archive_days SET abandoned = (day = '2026-11-19')"); err != nil {
			t.Fatal(err)
		}
		sealDay(t, a, "2026-11-20")
	})
	list := s.do(t, call{path: "/api/data"}).fine()
	for i, want := range []struct {
		from      any
		abandoned bool
	}{{"2026-11-19", false}, {"2026-11-18", true}, {nil, false}} {
		if from, abandoned := list.at("days", i, "abandonedFrom"), list.at("days", i, "abandoned"); from != want.from || abandoned != want.abandoned {
			t.Errorf("day %d: it abandons days from %v and is abandoned: %v; want %v", i, from, abandoned, want)
		}
	}
	page := s.do(t, call{path: "/data"})
	for text, n := range map[string]int{
		"in the days from 2026-11-19 up to the day before this one don't count": 1, "in the days from 2026-11-18": 0,
		"Predictions, scores and boards of this day don't count": 1,
	} {
		if got := strings.Count(string(page.raw), text); got != n {
			t.Errorf("the page (%d) has %q %d times, want %d", page.status, text, got, n)
		}
	}
}

// TestDownloadsOfOneCaller checks that an address that never reads the files it asks for gets only its share of the
// places for downloads, and that others can still download.
func TestDownloadsOfOneCaller(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	cfg := configure(t, backends[0], func(c *config.Config) {
		c.ArchiveURL, c.DatabaseURL, c.TrustedProxies = "file://"+folder, sampleURL(t, database.SQLite), "127.0.0.1"
	})
	s := run(t, cfg, app.Options{Now: (&clock{}).now}, func(a *app.App) { sealSample(t, a) })
	name := filepath.Join(folder, "days", "2026-11-18", archive.RedactionsName)
	list := append([]byte("[]"), bytes.Repeat([]byte(" "), 32<<20)...) // more than the buffers of sockets hold
	if err := os.WriteFile(name, list, 0o600); err != nil {
		t.Fatal(err)
	}
	download := func(address, key string) *http.Response {
		t.Helper()
		res, err := http.DefaultTransport.RoundTrip(s.request(t, call{
			path: "/api/data/days/2026-11-18/" + archive.RedactionsName, bearer: key, header: from(address),
		}))
		if err != nil {
			t.Fatal(err)
		}
		if t.Cleanup(func() { res.Body.Close() }); res.StatusCode != http.StatusOK {
			res.Body.Close()
		}
		return res
	}
	key := s.register(t, "Ada")
	var held []*http.Response
	for i := range 8 {
		res := download("192.0.2.1", "")
		if want := i < 4; (res.StatusCode == http.StatusOK) != want || !want && res.StatusCode != http.StatusTooManyRequests {
			t.Errorf("download %d: %d", i+1, res.StatusCode)
		}
		held = append(held, res)
	}
	for _, other := range [][2]string{{"192.0.2.2", ""}, {"192.0.2.1", key}} {
		if res := download(other[0], other[1]); res.StatusCode != http.StatusOK {
			t.Errorf("%q: %d", other, res.StatusCode)
		}
	}
	held[0].Body.Close()
	deadline := time.Now().Add(time.Minute)
	for download("192.0.2.1", "").StatusCode != http.StatusOK {
		if time.Now().After(deadline) {
			t.Fatal("the place of a closed download isn't free again")
		}
	}
}

// TestHangingArchive checks that requests to an archive that doesn't answer are refused, and that they take no place of
// other reads while they wait.
func TestHangingArchive(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"page": "/data?before=2026-11-2%d", "list": "/api/data?limit=1%d"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, read := t.TempDir(), &dayReads{limit: "LIMIT"}
			cfg := configure(t, backends[0], func(c *config.Config) { c.ArchiveURL, c.DatabaseURL = "file://"+folder, sampleURL(t, database.SQLite) })
			s := run(t, cfg, app.Options{Now: (&clock{}).now, Queries: read}, func(a *app.App) { sealSample(t, a) })
			// To open a pipe waits until its other end is open.
			pipe := filepath.Join(folder, "days", "2026-11-18", archive.TextsName)
			if err := errors.Join(os.Remove(pipe), syscall.Mkfifo(pipe, 0o600)); err != nil {
				t.Fatal(err)
			}
			places := int64(max(runtime.GOMAXPROCS(0)/2, 1))
			before := read.n.Load()
			var hanging sync.WaitGroup
			defer func() { // so that the attempts to open it end
				end, err := os.OpenFile(pipe, os.O_RDWR, 0)
				if err != nil {
					t.Error(err)
					return
				}
				defer end.Close()
				hanging.Wait()
			}()
			for i := range places {
				hanging.Go(func() {
					if a := s.do(t, call{path: fmt.Sprintf(path, i)}); a.status != http.StatusServiceUnavailable {
						t.Errorf("the archive hangs: %d %s", a.status, a.raw)
					}
				})
			}
			for deadline := time.Now().Add(20 * time.Second); read.n.Load() < before+min(places, 4); time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("no request reads the archive")
				}
			}
			if other := s.do(t, call{path: "/api/predictions?status=void"}); other.status != http.StatusOK {
				t.Errorf("another read: %d %s", other.status, other.raw)
			}
			hanging.Wait()
		})
	}
}

// TestWithheldSources checks that the files of a source that the settings don't release are listed as not published and
// can't be read, and that the release without them is sound.
func TestWithheldSources(t *testing.T) {
	t.Parallel()
	cfg := configure(t, backends[0], func(c *config.Config) { c.ArchiveURL = "file://" + t.TempDir() })
	s := run(t, cfg, app.Options{Now: (&clock{}).now}, func(a *app.App) {
		recordNews(t, a, "reddit", "reddit-rss", "hackernews")
		sealSample(t, a)
	})
	published := map[string]bool{
		"news-hackernews.parquet": true, "texts/news-hackernews.parquet": true,
		"news-reddit.parquet": false, "texts/news-reddit.parquet": false, "news-reddit-rss.parquet": false, "texts/news-reddit-rss.parquet": false,
	}
	const day = "/api/data/days/2026-11-18/"
	list := s.do(t, call{path: "/api/data"}).fine()
	rows, found := 0.0, 0
	for i := range list.count("days", 0, "files") {
		file, _ := list.at("days", 0, "files", i).(map[string]any)
		if n, counted := file["rows"].(float64); counted && file["published"] == true {
			rows += n
		}
		name := fmt.Sprint(file["name"])
		want, known := published[name]
		if !known {
			continue
		}
		found++
		if file["published"] != want || (file["url"] != nil) != want {
			t.Errorf("%s is published: %v, at %v; want %v", name, file["published"], file["url"], want)
		}
		status, body, _ := s.raw(t, day+name, nil)
		if (status == http.StatusOK) != want || !want && (status != http.StatusNotFound || !strings.Contains(string(body), "not part of the release")) {
			t.Errorf("%s: %d %.200s", name, status, body)
		}
	}
	if found != len(published) || list.at("days", 0, "rows") != rows {
		t.Errorf("%d of %d files of news; the day has %v rows, want %v", found, len(published), list.at("days", 0, "rows"), rows)
	}
	named := s.do(t, call{path: day + release.WithheldName})
	if named.count("withheld") != 4 || strings.Contains(string(named.raw), "hackernews") {
		t.Errorf("%d %s", named.status, named.raw)
	}
	remote, err := release.OpenURL(t.Context(), s.base)
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	if v, err := release.Verify(t.Context(), remote, func(int, int) {}); err != nil || len(v.Problems) > 0 || len(v.Withheld) != 4 {
		t.Errorf("verify: %+v, %v", v, err)
	}
}

// recordNews appends an item of each source to the archive, on the day of sealSample.
func recordNews(t *testing.T, a *app.App, sources ...string) {
	t.Helper()
	at := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	recorder := archive.NewRecorder(func() time.Time { return at })
	for _, source := range sources {
		err := a.DB.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			_, err := recorder.News(ctx, tx, []news.Item{{
				ID: source, Source: source, Community: "technology", Title: "From " + source, URL: "https://x.example", Permalink: "https://x.example",
				PostedAt: at, ObservedAt: at, Received: archive.Hash([]byte(source)),
			}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// checkRemote verifies and recomputes the release over HTTP.
func checkRemote(t *testing.T, s *service) {
	t.Helper()
	remote, err := release.OpenURL(t.Context(), s.base)
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	v, err := release.Verify(t.Context(), remote, func(int, int) {})
	if err != nil || len(v.Problems) > 0 || v.Days != 1 || v.Rows == 0 {
		t.Errorf("verify: %+v, %v", v, err)
	}
	r, err := release.Recompute(t.Context(), remote, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Differences) > 0 || r.Predictions == 0 || r.References == 0 || len(r.Main()) < 10 {
		t.Errorf("recompute: %d differences, the first %.1q; %d predictions, %d rows", len(r.Differences), r.Differences, r.Predictions, len(r.Main()))
	}
}

// raw returns an answer that needn't be JSON.
func (s *service) raw(t *testing.T, path string, header map[string]string) (status int, body []byte, answered http.Header) {
	t.Helper()
	res, err := http.DefaultTransport.RoundTrip(s.request(t, call{path: path, header: header}))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, body, res.Header
}

// checkManyRedactions checks that a list of redactions that is too long for memory is streamed.
func checkManyRedactions(t *testing.T, s *service, folder string) {
	t.Helper()
	name := filepath.Join(folder, "days", "2026-11-18", archive.RedactionsName)
	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]archive.Redaction, 20_000)
	for i := range list {
		list[i] = archive.Redaction{Table: archive.Predictions, Record: strconv.Itoa(i), Reason: archive.Closed}
	}
	content, err := json.Marshal(list)
	if err != nil || len(content) < 1<<20 {
		t.Fatalf("%d bytes, %v", len(content), err)
	}
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	file := "/api/data/days/2026-11-18/" + archive.RedactionsName
	etag := `"` + archive.Hash(content) + `"`
	for _, c := range []struct {
		header map[string]string
		status int
		want   []byte
	}{
		{nil, http.StatusOK, content},
		{map[string]string{"Range": "bytes=-100"}, http.StatusPartialContent, content[len(content)-100:]},
		{map[string]string{"If-None-Match": etag}, http.StatusNotModified, nil},
	} {
		status, body, header := s.raw(t, file, c.header)
		if status != c.status || string(body) != string(c.want) || header.Get("ETag") != etag {
			t.Errorf("%v: %d, %d bytes, %v", c.header, status, len(body), header)
		}
		if c.want != nil && header.Get("Content-Type") != "application/json" {
			t.Errorf("%v: the type is %s", c.header, header.Get("Content-Type"))
		}
	}
	checkKeptHash(t, s, name, file, etag)
	if err := os.WriteFile(name, before, 0o600); err != nil {
		t.Fatal(err)
	}
}

// checkKeptHash checks that a large file is read whole only once. So if its content changes without its size and time,
// only the bytes sent are new.
func checkKeptHash(t *testing.T, s *service, name, path, etag string) {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	content[0] ^= 1
	if err := errors.Join(os.WriteFile(name, content, 0o600), os.Chtimes(name, time.Time{}, info.ModTime())); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := s.raw(t, path, map[string]string{"If-None-Match": etag}); status != http.StatusNotModified {
		t.Errorf("a condition: %d, want 304 without reading the file", status)
	}
	if status, body, _ := s.raw(t, path, map[string]string{"Range": "bytes=0-0", "If-Range": etag}); status != http.StatusPartialContent || !bytes.Equal(body, content[:1]) {
		t.Errorf("a range: %d, %.20q; want 206 without reading the file", status, body)
	}
	if err := os.Chtimes(name, time.Time{}, info.ModTime().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if status, _, header := s.raw(t, path, map[string]string{"If-None-Match": etag}); status != http.StatusOK || header.Get("ETag") != `"`+archive.Hash(content)+`"` {
		t.Errorf("a changed file: %d, ETag %s", status, header.Get("ETag"))
	}
}

// checkTampered changes a byte of a copy of an archive.
func checkTampered(t *testing.T, folder string) {
	t.Helper()
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(copied, "days", "2026-11-18", "ledger.parquet")
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := release.Verify(t.Context(), archive.OpenFolder(copied), func(int, int) {})
	if err != nil || len(v.Problems) != 1 || v.Problems[0].File != "days/2026-11-18/ledger.parquet" || !strings.Contains(v.Problems[0].Reason, "SHA-256") {
		t.Errorf("a changed byte: %+v, %v", v, err)
	}
}

// recomputeElsewhere rebuilds the board with DuckDB. It needs Node.js and the npm packages.
func recomputeElsewhere(t *testing.T, folder string) {
	t.Helper()
	modules, err := filepath.Abs("../../node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, "@duckdb", "node-api")); errors.Is(err, fs.ErrNotExist) {
		t.Skip("DuckDB is missing: npm ci installs it (NEED_NPM)")
	}
	out, err := exec.CommandContext(t.Context(), "node", "../release/testdata/recompute.mjs", folder, modules).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "numbers compared, 0 differ") {
		t.Errorf("DuckDB: %v\n%.2000s", err, out)
	}
}
