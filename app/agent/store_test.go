package agent_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/problem"
)

var (
	store agent.Store
	at    = time.Date(2026, 11, 21, 8, 30, 0, 123_456_000, time.UTC)
)

func create(t testing.TB, db bun.IDB, name string) *agent.Agent {
	t.Helper()
	a, err := store.Create(t.Context(), db, agent.New{Profile: agent.Profile{Name: name}, At: at})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// inTx runs one store call in a transaction.
func inTx(t testing.TB, db *database.DB, fn func(ctx context.Context, tx bun.Tx) error) {
	t.Helper()
	if err := db.InTx(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// refused fails the test unless err is a refusal with this status and code.
func refused(t testing.TB, err error, status int, code string) *problem.Error {
	t.Helper()
	p := problem.As(err)
	if err == nil || p.Status != status || p.Code != code {
		t.Fatalf("got %v, want %d %s", err, status, code)
	}
	return p
}

func TestCreateAndFind(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		made, err := store.Create(ctx, db, agent.New{
			Profile: agent.Profile{Name: "  Ada ", Model: "m-1", Framework: "f", Description: "one\ntwo", Homepage: "https://example.org/a"},
			Issuer:  "https://id", Subject: "s", Owner: "o", Sample: true, At: at.In(time.FixedZone("", 3600)).Add(789),
		})
		if err != nil {
			t.Fatal(err)
		}
		found, err := store.ByHandle(ctx, db.Reader, "ada")
		if err != nil {
			t.Fatal(err)
		}
		want := agent.Agent{ID: made.ID, Handle: "ada", Visibility: agent.Public, Profile: agent.Profile{Name: "Ada", Model: "m-1", Framework: "f", Description: "one\ntwo", Homepage: "https://example.org/a"},
			Kind: agent.Ordinary, Status: agent.Active, Issuer: "https://id", Subject: "s", Owner: "o", Sample: true, CreatedAt: at,
			NameKey: "ada", HandleKey: "ada", SearchName: "ada"}
		if *found != want || *made != want {
			t.Fatalf("stored   %+v\nreturned %+v\nwant     %+v", found, made, want)
		}
		other := create(t, db, "Grace")
		all, err := store.ByIDs(ctx, db.Reader, []uuid.UUID{made.ID, other.ID, uuid.New()})
		if err != nil || len(all) != 2 || all[other.ID].Handle != "grace" {
			t.Fatalf("%v, %v", all, err)
		}
		if one, err := store.ByID(ctx, db.Reader, other.ID); err != nil || one.Handle != "grace" || one.Subject != "" {
			t.Fatalf("%+v, %v", one, err)
		}
		if used, err := store.InUse(ctx, db.Reader, []string{"ada", "nobody-here"}); err != nil || !slices.Equal(used, []string{"ada"}) {
			t.Fatalf("in use: %v, %v", used, err)
		}
		_, err = store.ByID(ctx, db.Reader, uuid.New())
		refused(t, err, 404, "not_found")
		for _, handle := range []string{"nobody-here", "Ada", "a'; --", ""} {
			_, err = store.ByHandle(ctx, db.Reader, handle)
			refused(t, err, 404, "not_found")
		}
	})
}

func TestProfileRules(t *testing.T) {
	t.Parallel()
	ok := agent.Profile{Name: "Ada"}
	cases := []struct {
		field  string
		change func(*agent.Profile)
	}{
		{"name", func(p *agent.Profile) { p.Name = " \t " }},
		{"name", func(p *agent.Profile) { p.Name = strings.Repeat("é", 81) }},
		{"name", func(p *agent.Profile) { p.Name = "a\x00b" }},
		{"name", func(p *agent.Profile) { p.Name = "a\nb" }},
		{"model", func(p *agent.Profile) { p.Model = strings.Repeat("m", 81) }},
		{"framework", func(p *agent.Profile) { p.Framework = "a\u202eb" }},
		{"framework", func(p *agent.Profile) { p.Framework = "a\u200db" }},
		{"model", func(p *agent.Profile) { p.Model = "gpt-5\u200b" }},
		{"description", func(p *agent.Profile) { p.Description = "a\U000e0041" }},
		{"description", func(p *agent.Profile) { p.Description = strings.Repeat("d", 1001) }},
		{"description", func(p *agent.Profile) { p.Description = "\xff" }},
		{"homepage", func(p *agent.Profile) { p.Homepage = "javascript:alert(1)" }},
		{"homepage", func(p *agent.Profile) { p.Homepage = "example.org" }},
		{"homepage", func(p *agent.Profile) { p.Homepage = "https://" }},
		{"homepage", func(p *agent.Profile) { p.Homepage = "https://user:pass@example.org" }},
		{"homepage", func(p *agent.Profile) { p.Homepage = "https://example.org/" + strings.Repeat("x", 2048) }},
	}
	for _, c := range cases {
		p := ok
		c.change(&p)
		got := refused(t, p.Check(), 422, "invalid_request")
		if len(got.Fields) != 1 || got.Fields[0].Field != c.field || got.Fields[0].Message == "" {
			t.Errorf("%+v: %+v", p, got.Fields)
		}
	}
	named := ok
	named.Homepage = "https://me@example.org/"
	if got := refused(t, named.Check(), 422, "invalid_request"); !strings.Contains(got.Fields[0].Message, "user name") {
		t.Errorf("the refusal doesn't name the fault: %+v", got.Fields)
	}
	full := agent.Profile{Name: strings.Repeat("é", 80), Model: strings.Repeat("m", 80), Framework: strings.Repeat("f", 80),
		Description: strings.Repeat("東", 1000), Homepage: "http://example.org/" + strings.Repeat("x", 2029)}
	if err := full.Check(); err != nil {
		t.Error(err)
	}
}

func TestHandles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Ada Lovelace":            "ada-lovelace",
		"  --Größe & Ångström--":  "grosse-angstrom",
		"Łukasz Ørsted Æther":     "lukasz-orsted-aether",
		"Пророк 2":                "prorok-2",
		"Σωκράτης":                "sokratis",
		"ﬁne-tuned":               "fine-tuned",
		"Ada's agent":             "adas-agent",
		"東京":                      "agent",
		"!!!":                     "agent",
		"a":                       "agent-a",
		strings.Repeat("ab ", 40): "ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-a",
	} {
		got := agent.HandleFrom(name)
		if got != want || !agent.ValidHandle(got) {
			t.Errorf("HandleFrom(%q) = %q, want %q", name, got, want)
		}
	}
	for _, handle := range []string{"new", "market", "consensus", "fifty", "always-50", "me", "admin", "api", "all", "compare", "badge", "pulsecast"} {
		if !agent.Reserved(handle) {
			t.Errorf("%q is not reserved", handle)
		}
	}
	for _, handle := range []string{"ab", "-abc", "abc-", "Abc", "a_b", "äbc", strings.Repeat("a", 41)} {
		if agent.ValidHandle(handle) {
			t.Errorf("%q is valid", handle)
		}
	}
}

func TestHandlesAreUnique(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		for _, want := range []string{"ada", "ada-2", "ada-3"} {
			if a := create(t, db, "Ada"); a.Handle != want {
				t.Errorf("handle %q, want %q", a.Handle, want)
			}
		}
		if a := create(t, db, "Markét Maker"); a.Handle != "market-maker" {
			t.Errorf("a name with a reserved word got the handle %q", a.Handle)
		}
		long := strings.Repeat("x", 60)
		if a, b := create(t, db, long), create(t, db, long); len(a.Handle) != 40 || len(b.Handle) != 40 || !strings.HasSuffix(b.Handle, "x-2") {
			t.Errorf("%q, %q", a.Handle, b.Handle)
		}
		explicit := func(handle string, kind agent.Kind) error {
			_, err := store.Create(ctx, db, agent.New{Profile: agent.Profile{Name: "X"}, Handle: handle, Kind: kind, At: at})
			return err
		}
		refused(t, explicit("ada", agent.Ordinary), 409, "handle_taken")
		refused(t, explicit("market", agent.Ordinary), 422, "invalid_request")
		refused(t, explicit("A", agent.Ordinary), 422, "invalid_request")
		if err := explicit("always-50", agent.Reference); err != nil {
			t.Error(err)
		}
		// More numbers than one batch are in use.
		for i := range 60 {
			if err := explicit(fmt.Sprintf("grace-%d", i+2), agent.Ordinary); err != nil {
				t.Fatal(err)
			}
		}
		create(t, db, "Grace")
		if a := create(t, db, "Grace"); a.Handle != "grace-62" {
			t.Errorf("got %q", a.Handle)
		}
	})
}

type queryCounter struct{ n int }

func (*queryCounter) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }
func (c *queryCounter) AfterQuery(context.Context, *bun.QueryEvent)                      { c.n++ }

// TestPopularName checks that a name that thousands of agents have costs no more queries than one
// that hundreds have, and that there is always a free handle.
func TestPopularName(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		taken := make([]agent.Agent, 1000)
		for i := range taken {
			taken[i] = agent.Agent{
				ID: database.NewID(at), Handle: fmt.Sprintf("echo-%d", i+1), Profile: agent.Profile{Name: "Echo"},
				Kind: agent.Ordinary, Status: agent.Active, CreatedAt: at,
			}
		}
		taken[0].Handle = "echo"
		if _, err := db.NewInsert().Model(&taken).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		count := &queryCounter{}
		a := create(t, db.WithQueryHook(count), "Echo")
		if !strings.HasPrefix(a.Handle, "echo-") || count.n > 5 {
			t.Errorf("%s after %d queries", a.Handle, count.n)
		}
	})
}

func TestCreateTogether(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		const n = 12
		var wg sync.WaitGroup
		handles, ids, made := make([]string, n), make([]uuid.UUID, n), make([]bool, n)
		for i := range n {
			wg.Go(func() {
				a, err := store.Create(context.Background(), db, agent.New{Profile: agent.Profile{Name: "Twin"}, At: at})
				if err != nil {
					t.Error(err)
					return
				}
				handles[i] = a.Handle
				a, created, err := store.BySubject(context.Background(), db, agent.New{
					Profile: agent.Profile{Name: "Central"}, Issuer: "https://id", Subject: "one", At: at})
				if err != nil {
					t.Error(err)
					return
				}
				ids[i], made[i] = a.ID, created
			})
		}
		wg.Wait()
		different, times := map[string]bool{}, 0
		for i := range n {
			different[handles[i]] = true
			if ids[i] != ids[0] {
				t.Errorf("one subject has agents %s and %s", ids[0], ids[i])
			}
			if made[i] {
				times++
			}
		}
		if len(different) != n || times != 1 {
			t.Errorf("%d different handles of %d, subject made %d times", len(different), n, times)
		}
	})
}

func TestList(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for _, name := range []string{"Carol", "Alice", "Bob 100%", "Bob 1000"} {
			create(t, db, name)
		}
		carol, err := store.ByHandle(t.Context(), db, "carol")
		if err != nil {
			t.Fatal(err)
		}
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
			_, err := store.SetStatus(ctx, tx, carol.ID, agent.Disabled, at)
			return err
		})
		cases := []struct {
			filter agent.Filter
			want   string
		}{
			{agent.Filter{}, "alice bob-100 bob-1000 carol consensus fifty market"},
			{agent.Filter{Kind: agent.Ordinary}, "alice bob-100 bob-1000 carol"},
			{agent.Filter{Limit: 2}, "alice bob-100"},
			{agent.Filter{Limit: 2, Cursor: cursor.Encode("agents", "bob-100")}, "bob-1000 carol"},
			{agent.Filter{Listed: true, Kind: agent.Ordinary}, "alice bob-100 bob-1000"},
			{agent.Filter{Q: "BOB"}, "bob-100 bob-1000"},
			{agent.Filter{Q: "100%"}, "bob-100"},
			{agent.Filter{Q: "_"}, ""},
			{agent.Filter{Q: "ALWAYS 50 %"}, "fifty"},
			{agent.Filter{Kind: agent.Reference}, "consensus fifty market"},
		}
		for _, c := range cases {
			c.filter.Limit = cmp.Or(c.filter.Limit, 100)
			list, next, err := store.List(t.Context(), db.Reader, c.filter)
			if full := c.filter.Limit == 2; full != (next != "") || (full && next != cursor.Encode("agents", list[1].Handle)) {
				t.Errorf("%+v: the next page is after %q", c.filter, next)
			}
			var got []string
			for _, a := range list {
				got = append(got, a.Handle)
			}
			if err != nil || strings.Join(got, " ") != c.want {
				t.Errorf("%+v: %v, %v; want %s", c.filter, got, err, c.want)
			}
		}
	})
}

// TestTouchDoesNotWait checks that Touch doesn't wait for transactions that publish or settle
// predictions of the agents.
func TestTouchDoesNotWait(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	a := create(t, db, "Ada")
	inTx(t, db, func(ctx context.Context, publishing bun.Tx) error {
		if _, _, err := store.IssueKey(ctx, publishing, a.ID, "refers to the agent", at); err != nil {
			return err
		}
		return db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
			if _, err := tx.ExecContext(ctx, "SET LOCAL lock_timeout = '500ms'"); err != nil {
				return err
			}
			return store.Touch(ctx, tx, []uuid.UUID{a.ID}, at)
		})
	})
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		a := create(t, db, "Ada")
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
			_, err := store.Update(ctx, tx, a.ID, func(p *agent.Profile) { p.Name, p.Model = "Ada 2", "m" })
			return err
		})
		err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			_, err := store.Update(ctx, tx, a.ID, func(p *agent.Profile) { p.Model, p.Homepage = "other", "ftp://x" })
			return err
		})
		refused(t, err, 422, "invalid_request")
		got, err := store.ByID(t.Context(), db, a.ID)
		if err != nil || got.Profile != (agent.Profile{Name: "Ada 2", Model: "m"}) || got.Handle != "ada" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestSameProfileMovesNothing checks that an update which changes nothing leaves the cached credentials and lists of all
// nodes alone, and that another one doesn't.
func TestSameProfileMovesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		a := create(t, db, "Ada")
		moved := func(change func(p *agent.Profile)) (credentials, lists int64) {
			t.Helper()
			read := func() (credentials, lists int64) {
				t.Helper()
				err := db.NewRaw("SELECT generation FROM credential_generation").Scan(t.Context(), &credentials)
				if err == nil {
					err = db.NewRaw("SELECT COALESCE(SUM(value), 0) FROM generations WHERE topic = ?", generation.Agents.String()).Scan(t.Context(), &lists)
				}
				if err != nil {
					t.Fatal(err)
				}
				return credentials, lists
			}
			credentials, lists = read()
			inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
				updated, err := store.Update(ctx, tx, a.ID, change)
				if err == nil && updated.Handle != a.Handle {
					t.Errorf("updated %+v", updated)
				}
				return err
			})
			after, listsAfter := read()
			return after - credentials, listsAfter - lists
		}
		for what, c := range map[string]struct {
			change func(p *agent.Profile)
			moves  int64
		}{
			"nothing":           {func(*agent.Profile) {}, 0},
			"the same":          {func(p *agent.Profile) { p.Name = "Ada" }, 0},
			"the same, trimmed": {func(p *agent.Profile) { p.Name, p.Model = " Ada ", " " }, 0},
			"a description":     {func(p *agent.Profile) { p.Description = "d" }, 1},
		} {
			if credentials, lists := moved(c.change); credentials != c.moves || lists != c.moves {
				t.Errorf("%s: the credentials moved by %d, the lists by %d; want %d", what, credentials, lists, c.moves)
			}
		}
	})
}

func TestTouchAndOwner(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		a, b := create(t, db, "Ada"), create(t, db, "Bob")
		err := errors.Join(store.Touch(t.Context(), db, []uuid.UUID{a.ID}, at.Add(time.Hour)),
			store.Touch(t.Context(), db, nil, at), store.SetOwner(t.Context(), db, a.ID, "org-1"))
		if err != nil {
			t.Fatal(err)
		}
		all, err := store.ByIDs(t.Context(), db, []uuid.UUID{a.ID, b.ID})
		if err != nil || !all[a.ID].LastSeenAt.Equal(at.Add(time.Hour)) || !all[b.ID].LastSeenAt.IsZero() || all[a.ID].Owner != "org-1" {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// TestReservedHandlesOnSchemaOfTheNextVersion checks that reserved handles can be listed from tables with more columns.
func TestReservedHandlesOnSchemaOfTheNextVersion(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		dbtest.Widen(t, db)
		create(t, db, "Ada")
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
			return store.Reserve(ctx, tx, agent.ReservedHandle{Handle: "ada", Note: "taken", Author: "admin", CreatedAt: at})
		})
		list, err := store.ReservedHandles(t.Context(), db)
		if err != nil || len(list) != 1 || list[0].Handle != "ada" || !list[0].InUse {
			t.Errorf("reserved %+v, %v; want ada, in use", list, err)
		}
	})
}
