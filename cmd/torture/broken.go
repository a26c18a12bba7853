package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// breakage is a deliberate mistake, made to see that a check catches it. The program's own sources
// don't contain it. A build with the tag "broken" replaces some sources with changed copies (go
// build -overlay), and its environment variable BROKEN chooses the mistake.
type breakage struct {
	name   string
	does   string // the mistake as a sentence: "It answers before the commit."
	checks []string
	// fault is a part of the fault that shows the mistake, if the check could also fail in another way.
	fault string
	edits []edit
}

// edit replaces a text that occurs exactly once in a file.
type edit struct{ file, from, to string }

// is returns the condition that the changed copies use to make a mistake. They import the package broken under
// another name, because some packages have a function broken.
func is(name string) string { return fmt.Sprintf("mistake.Is(%q)", name) }

var breakages = []breakage{
	{
		name: "ack", does: "A publish is answered before its transaction commits.", checks: []string{"nodes"},
		edits: []edit{
			{"app/prediction/batch.go", "\t\tb, err = p.storeBatch(ctx, tx, list)\n\t\treturn err\n",
				"\t\tb, err = p.storeBatch(ctx, tx, list)\n\t\tif err == nil && " + is("ack") + " {\n" +
					"\t\t\tfor i, w := range list {\n\t\t\t\tif !b.held(w) {\n\t\t\t\t\tw.finish(b.results[i])\n\t\t\t\t}\n\t\t\t}\n" +
					"\t\t\ttime.Sleep(50 * time.Millisecond)\n\t\t}\n\t\treturn err\n"},
			{"app/prediction/committer.go", "\tw.result = r\n",
				"\tselect {\n\tcase <-w.done:\n\t\tif " + is("ack") + " {\n\t\t\treturn\n\t\t}\n\tdefault:\n\t}\n\tw.result = r\n"},
		},
	},
	{
		name: "key", does: "A repeated Idempotency-Key publishes again.", checks: []string{"nodes"},
		edits: []edit{{"app/prediction/batch.go", "b.answers[key]; ok && key.Key", "b.answers[key]; ok && !" + is("key") + " && key.Key"}},
	},
	{
		name: "ledger", does: "A score counts twice in the sums of its day.", checks: []string{"nodes"},
		edits: []edit{{"app/settlement/batch.go", "\tb.days.add(bet.term(y, r, sign, own.Category, own.Day))\n",
			"\tb.days.add(bet.term(y, r, sign, own.Category, own.Day))\n\tif " + is("ledger") + " {\n" +
				"\t\tb.days.add(bet.term(y, r, sign, own.Category, own.Day))\n\t}\n"}},
	},
	{
		name: "update", does: "A settlement writes no update.", checks: []string{"nodes"},
		edits: []edit{{"app/settlement/batch.go", "\tb.updates = append(b.updates, i.movedUpdate(&row, b.now, b.withheld))\n",
			"\tif !" + is("update") + " {\n\t\tb.updates = append(b.updates, i.movedUpdate(&row, b.now, b.withheld))\n\t}\n"}},
	},
	{
		name: "sync", does: "Postgres confirms a publish before it is on disk (synchronous_commit=off).", checks: []string{"databases"},
		edits: []edit{{"app/prediction/batch.go", "\t\treturn fmt.Errorf(\"store predictions: %w\", err)\n\t}\n\treturn nil\n",
			"\t\treturn fmt.Errorf(\"store predictions: %w\", err)\n\t}\n\tif " + is("sync") + " {\n\t\treturn database.CommitLater(ctx, tx)\n\t}\n\treturn nil\n"}},
	},
	{
		name: "lease", does: "A node that finds a lease held tries again only after an hour.", checks: []string{"cluster"},
		edits: []edit{{"app/worker/worker.go", "\t\t\trest = max(rest, w.hold(ctx, job))\n\t\t}\n",
			"\t\t\trest = max(rest, w.hold(ctx, job))\n\t\t}\n\t\tif " + is("lease") + " {\n\t\t\trest = time.Hour\n\t\t}\n"}},
	},
	{
		name: "own", does: "A reader with a key gets copies that may lack its own writes.", checks: []string{"cluster"},
		edits: []edit{{"app/api/cached.go", "Current: caller(c) != nil}", "Current: caller(c) != nil && !" + is("own") + "}"}},
	},
	{
		name: "drain", does: "SIGTERM ends a node at once, as it ends a program without a handler.", checks: []string{"cluster"}, fault: ": 502 after",
		edits: []edit{{"app/httpserver/stop.go", "\t\tif s.drain(ln, served) {\n", "\t\tif " + is("drain") + " {\n\t\t\tos.Exit(1)\n\t\t}\n\t\tif s.drain(ln, served) {\n"},
			{"app/httpserver/stop.go", "\t\"net\"\n", "\t\"net\"\n\t\"os\"\n"}},
	},
	{
		name: "500", does: "A publish that the database doesn't confirm is answered 500.", checks: []string{"outages"},
		edits: []edit{{"app/prediction/batch.go", "\tfor _, w := range list {\n\t\tw.finish(result{err: err})",
			"\tif " + is("500") + " {\n\t\terr = errors.New(\"broken\")\n\t}\n\tfor _, w := range list {\n\t\tw.finish(result{err: err})"}},
	},
	{
		name: "breaker", does: "Nothing ends the requests that wait for a database that doesn't answer.", checks: []string{"outages"}, fault: "answered too late",
		edits: []edit{{"app/database/breaker.go", "\tb.err, b.back = err, make(chan struct{})\n",
			"\tif " + is("breaker") + " {\n\t\treturn\n\t}\n\tb.err, b.back = err, make(chan struct{})\n"}},
	},
	{
		name: "late", does: "A node notices only after five seconds that the database is back.", checks: []string{"outages", "optional parts"}, fault: "after its end",
		edits: []edit{{"app/database/breaker.go", "\t\t\tb.open(err)\n\t\t}\n\t\tif b.onProbe",
			"\t\t\tb.open(err)\n\t\t\tif " + is("late") + " {\n\t\t\t\ttime.Sleep(5 * time.Second)\n\t\t\t}\n\t\t}\n\t\tif b.onProbe"}},
	},
	{
		name: "slow", does: "A node notices only after two seconds that the database doesn't answer.", checks: []string{"outages"}, fault: "answered too late",
		edits: []edit{
			{"app/database/breaker.go", "\t\tif quiet == silentLooks {", "\t\tif quiet == silentLooks && !" + is("slow") + " {"},
			{"app/database/breaker.go", "\tfor range probeLooks {", "\tlooks := probeLooks\n\tif " + is("slow") + " {\n\t\tlooks *= 2\n\t}\n\tfor range looks {"},
		},
	},
	{
		name: "stale", does: "The last good copy is sent as if it were current.", checks: []string{"outages"}, fault: "isn't marked as stale",
		edits: []edit{{"app/httpserver/negotiate.go", "\told := strconv.Itoa(max(int(age.Seconds()), 1))\n",
			"\tif " + is("stale") + " {\n\t\treturn\n\t}\n\told := strconv.Itoa(max(int(age.Seconds()), 1))\n"}},
	},
	{
		name: "redis", does: "A request waits a second for a Redis that doesn't answer.", checks: []string{"outages"}, fault: "takes",
		edits: []edit{{"app/httpserver/limits.go", "\tif l.redis != nil && l.asksRedis(now) {\n",
			"\tif " + is("redis") + " {\n\t\tl.patience = time.Second\n\t}\n\tif l.redis != nil && l.asksRedis(now) {\n"}},
	},
	{
		name: "refusal", does: "A key that the identity provider can't check is refused as a wrong key.", checks: []string{"outages"}, fault: "a new key: 401",
		edits: []edit{{"app/identity/provider.go", "\tcase err != nil:\n\t\treturn finding{}, unavailable(err)\n",
			"\tcase err != nil && " + is("refusal") + ":\n\t\treturn finding{refusal: p.invalid(), until: now.Add(keepRefused)}, nil\n" +
				"\tcase err != nil:\n\t\treturn finding{}, unavailable(err)\n"}},
	},
	{
		name: "lock", does: "A publish on SQLite waits seven seconds for another process.", checks: []string{"outages"}, fault: "locked by another process",
		edits: []edit{{"app/database/database.go", "servicePatience.Milliseconds())",
			"servicePatience.Milliseconds()*map[bool]int64{true: 10, false: 1}[" + is("lock") + "])"}},
	},
	{
		name: "fallback", does: "A read that fails on the replica isn't begun again on the primary.", checks: []string{"optional parts"}, fault: "the replica",
		edits: []edit{{"app/generation/side.go", "\t\tif err == nil || s.Exact && !lost {\n", "\t\tif err == nil || s.Exact && !lost || " + is("fallback") + " {\n"}},
	},
	{
		name: "lag", does: "Public reads go to the replica however far behind it is.", checks: []string{"optional parts"}, fault: "a visitor doesn't see",
		edits: []edit{{"app/generation/replica.go", "\tif now.Sub(seen.freshAt) <= f.maxLag {\n", "\tif now.Sub(seen.freshAt) <= f.maxLag || " + is("lag") + " {\n"}},
	},
	{
		name: "behind", does: "A reader with a key reads from a replica that may lack its own writes.", checks: []string{"optional parts"}, fault: "its own prediction",
		edits: []edit{{"app/generation/side.go", "\texact := seen.position >= now.server.Position\n", "\texact := seen.position >= now.server.Position || " + is("behind") + "\n"}},
	},
	{
		name: "places", does: "Answers from the archive take the places of other answers.", checks: []string{"optional parts"}, fault: "store frozen",
		edits: []edit{
			{"app/httpserver/cost.go", "\treturn s.admit(c, cost, s.archived)\n", "\tif " + is("places") + " {\n\t\treturn s.admit(c, cost, s.reads)\n\t}\n\treturn s.admit(c, cost, s.archived)\n"},
			{"app/httpserver/cost.go", "{ return s.admitted(cost, s.archived) }", "{\n\tif " + is("places") + " {\n\t\treturn s.admitted(cost, s.reads)\n\t}\n\treturn s.admitted(cost, s.archived)\n}"},
		},
	},
	{
		name: "silent", does: "A request waits for an archive that doesn't answer until its own time is over.", checks: []string{"optional parts"}, fault: "answered too late",
		edits: []edit{{"app/archive/breaker.go", "\tover := time.NewTimer(openWithin)\n",
			"\twithin := openWithin\n\tif " + is("silent") + " {\n\t\twithin = time.Minute\n\t}\n\tover := time.NewTimer(within)\n"}},
	},
	{
		name: "unreadable", does: "A read of an archive that can't be read is answered 500.", checks: []string{"optional parts"}, fault: ": 500 after",
		edits: []edit{{"app/release/catalogue.go", "\treturn fmt.Errorf(\"%w: %v\", ErrUnreadable, err)\n", "\tif " + is("unreadable") + " {\n\t\treturn errors.New(\"broken\")\n\t}\n\treturn fmt.Errorf(\"%w: %v\", ErrUnreadable, err)\n"}},
	},
	{
		name: "patience", does: "The server waits ten minutes for a client to send.", checks: []string{"slow clients"},
		edits: []edit{{"app/httpserver/server.go", "ReadTimeout:                  15 * time.Second,",
			"ReadTimeout:                  map[bool]time.Duration{true: 10 * time.Minute, false: 15 * time.Second}[" + is("patience") + "],"}},
	},
	{
		name: "parameter", does: "An invalid limit is answered with an internal error.", checks: []string{"fuzzer"},
		edits: []edit{{"app/api/parameter.go", "\tif !ok {\n\t\treturn 0, badLimit()\n\t}\n\treturn n, nil",
			"\tif !ok && " + is("parameter") + " {\n\t\treturn 0, fmt.Errorf(\"broken\")\n\t}\n\tif !ok {\n\t\treturn 0, badLimit()\n\t}\n\treturn n, nil"}},
	},
	{
		name: "shape", does: "A publish is answered with \"ok\": false, which the document doesn't allow.", checks: []string{"fuzzer"},
		edits: []edit{{"app/api/predictions.go", "publishedWire{OK: true, Prediction", "publishedWire{OK: !" + is("shape") + ", Prediction"}},
	},
	{
		name: "leak", does: "Every JSON body leaves a goroutine and an open file behind.", checks: []string{"soak"},
		edits: []edit{{"app/api/body.go", "func readObject(c *fiber.Ctx) (*object, error) {\n",
			"func readObject(c *fiber.Ctx) (*object, error) {\n\tif " + is("leak") + " {\n\t\tgo func() {\n\t\t\tf, _ := os.Open(os.DevNull)\n" +
				"\t\t\t<-make(chan int)\n\t\t\t_ = f.Close()\n\t\t}()\n\t}\n"},
			{"app/api/body.go", "\t\"mime\"\n", "\t\"mime\"\n\t\"os\"\n"}},
	},
	{
		name: "limits", does: "No rate limit refuses a request.", checks: []string{"expensive requests"}, fault: "reached its limit",
		edits: []edit{{"app/httpserver/limits.go", "func (l *Limits) take(ctx context.Context, cl *class, key bucketKey, n int) verdict {\n",
			"func (l *Limits) take(ctx context.Context, cl *class, key bucketKey, n int) verdict {\n\tif " + is("limits") + " {\n\t\treturn verdict{ok: true}\n\t}\n"}},
	},
	{
		name: "lane", does: "Any number of expensive answers are made at the same time, in 300 ms each.", checks: []string{"expensive requests"}, fault: "bystanders wait",
		edits: []edit{{"app/httpserver/cost.go", "\tif cost == Shared {\n",
			"\tif cost > Listing && " + is("lane") + " {\n\t\tfor began := time.Now(); time.Since(began) < 300*time.Millisecond; {\n\t\t}\n\t\treturn &Admission{}, nil\n\t}\n" +
				"\tif cost == Shared {\n"}},
	},
	{
		name: "backup", does: "A backup lacks the predictions.", checks: []string{"backups"},
		edits: []edit{{"app/backup/sqlite.go", "\tgot, err := inspectSQLite(ctx, temp)\n",
			"\tif " + is("backup") + " {\n\t\tcopied, _ := sql.Open(\"sqlite\", sqliteName(temp))\n\t\t_, _ = copied.ExecContext(ctx, \"DELETE FROM predictions\")\n" +
				"\t\t_ = copied.Close()\n\t\tpredictions = 0\n\t}\n\tgot, err := inspectSQLite(ctx, temp)\n"}},
	},
	{
		name: "dump", does: "A backup of Postgres lacks the predictions and their results.", checks: []string{"backups"}, fault: "lists",
		edits: []edit{{"app/backup/postgres.go", "\treturn predictions, run(cmd)\n",
			"\tif " + is("dump") + " {\n\t\tcmd.Args = append(cmd.Args, \"--exclude-table-data=predictions\", \"--exclude-table-data=results\")\n\t\tpredictions = 0\n\t}\n" +
				"\treturn predictions, run(cmd)\n"}},
	},
	{
		name: "segments", does: "A segment of the archive is deleted as soon as it is read.", checks: []string{"sealing"},
		edits: []edit{{"app/archive/segment.go", "\treturn content, nil\n}\n",
			"\tif " + is("segments") + " {\n\t\t_ = deleteSegments(ctx, db, []uuid.UUID{id})\n\t}\n\treturn content, nil\n}\n"}},
	},
	{
		name: "hosts", does: "A request may name two hosts.", checks: []string{"wire"},
		edits: []edit{{"app/httpserver/wirehead.go", "case h.hosts > 1:", "case h.hosts > 1 && !" + is("hosts") + ":"}},
	},
	{
		name: "length", does: "An Idempotency-Key may have any length.", checks: []string{"parsers"}, fault: "FuzzIdempotencyKey",
		edits: []edit{{"app/api/predictions.go", "|| len(key) > 255 ||", "|| (len(key) > 255 && !" + is("length") + ") ||"}},
	},
}

// breaksOf lists the breakages that a check must catch.
func breaksOf(name string) (list []caught) {
	for i := range breakages {
		if !breakages[i].fits() {
			continue
		}
		for _, c := range breakages[i].checks {
			if c == name {
				list = append(list, caught{breakage: &breakages[i]})
			}
		}
	}
	return list
}

const brokenPackage = `// Package broken chooses the mistake of a build that is broken on purpose.
package broken

import "os"

var chosen = os.Getenv("BROKEN")

// Is reports whether the build must make this mistake.
func Is(name string) bool { return chosen == name }
`

// fits reports whether the program has the files that a breakage changes. A breakage of a missing
// part isn't tried.
func (b *breakage) fits() bool {
	root, err := moduleRoot()
	return err == nil && !slices.ContainsFunc(b.edits, func(e edit) bool {
		_, err := os.Stat(filepath.Join(root, e.file))
		return err != nil
	})
}

const overlayFile = "overlay.json"

// writeOverlay writes the changed copies, and the overlay file that lists them for go build.
func writeOverlay(dir string) (overlay string, err error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	texts := map[string]string{}
	for _, b := range breakages {
		if !b.fits() {
			continue
		}
		for _, e := range b.edits {
			if err := e.apply(root, texts); err != nil {
				return "", fmt.Errorf("breakage %s: %w", b.name, err)
			}
		}
	}
	texts["app/broken/broken.go"] = brokenPackage
	replace := map[string]string{}
	for file, text := range texts {
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(copied, []byte(text), 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(root, file)] = copied
	}
	packed, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, overlayFile)
	return overlay, os.WriteFile(overlay, packed, 0o644)
}

// apply makes an edit in texts. It reads a source file when it first needs it.
func (e edit) apply(root string, texts map[string]string) error {
	text, ok := texts[e.file]
	if !ok {
		source, err := os.ReadFile(filepath.Join(root, e.file))
		if err != nil {
			return err
		}
		const imports = "\nimport (\n"
		text = strings.Replace(string(source), imports, imports+"\tmistake \"github.com/pulsecast/pulsecast/app/broken\"\n", 1)
	}
	if n := strings.Count(text, e.from); n != 1 {
		return fmt.Errorf("%s contains this text %d times, want once: %s", e.file, n, e.from)
	}
	texts[e.file] = strings.Replace(text, e.from, e.to, 1)
	return nil
}

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	return strings.TrimSpace(string(out)), err
}

// buildProgram builds cmd/pulsecast.
func buildProgram(ctx context.Context, path string, flags ...string) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"build", "-ldflags=-s", "-o", path}, flags...), "./cmd/pulsecast")...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}
