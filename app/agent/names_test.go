package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/problem"
)

// names are the Names of an installation in which an agent called Sibyl Eleven is ranked.
func names(t *testing.T, ranked uuid.UUID) *agent.Names {
	t.Helper()
	return agent.NewNames("Acme Forecasting", "https://forecast.example.org", func(ctx context.Context, db bun.IDB, keys []string, self uuid.UUID) (string, error) {
		var handles []string
		err := db.NewSelect().TableExpr("agents").Column("handle").Where("name_key IN (?) OR handle_key IN (?)", bun.List(keys), bun.List(keys)).
			Where("id = ?", ranked).Where("id <> ?", self).Scan(ctx, &handles)
		return strings.Join(handles, ""), err
	})
}

// TestNames checks which names a new agent may have and which are refused.
func TestNames(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
		ranked, err := agent.Store{}.Create(t.Context(), db, agent.New{Profile: agent.Profile{Name: "Sibyl Eleven"}, Handle: "oracle", At: at})
		if err != nil {
			t.Fatal(err)
		}
		err = db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			return agent.Store{}.Reserve(ctx, tx, agent.ReservedHandle{Handle: "globex", Note: "a brand", Author: "eve", CreatedAt: at})
		})
		if err != nil {
			t.Fatal(err)
		}
		store := agent.Store{Names: names(t, ranked.ID)}
		for name, want := range map[string]string{
			"Market":               "reserved for the service",
			"MARKET":               "reserved for the service",
			"Мarket":               "mixes Cyrillic and Latin letters",
			"Ｍａｒｋｅｔ":               "reserved for the service",
			"𝐌𝐚𝐫𝐤𝐞𝐭":               "reserved for the service",
			"rnarket":              "reserved for the service",
			"Märkét!":              "reserved for the service",
			"Mar\u200bket":         "invisible character U+200B",
			"Market\ufe0f":         "invisible character U+FE0F",
			"Market\U000e0067":     "invisible character U+E0067",
			"Mar\u00adket":         "invisible character U+00AD",
			"Mar\u034fket":         "invisible character U+034F",
			"\u3164":               "is required",
			"My\u00a0agent":        "space U+00A0",
			"Pulsecast Official":   "reserved for the service",
			"PuIsecast":            "reserved for the service",
			"ᴘᴜʟsᴇᴄᴀsᴛ":            "small capital U+1D18",
			"🅿ulsecast":            "reserved for the service",
			"OFFlCIAL bot":         "reserved for the service",
			"ADMlN":                "reserved for the service",
			"АРІ":                  "reserved for the service",
			"ЅТАТІС":               "reserved for the service",
			"Pu1secast Team":       "reserved for the service",
			"My-Pulse-Cast-Bot":    "reserved for the service",
			"Acme Forecasting Bot": "reserved for the service",
			"forecast.example.org": "reserved for the service",
			"The 0fficial Bot":     "reserved for the service",
			"Site Admin":           "reserved for the service",
			"Consensus":            "reserved for the service",
			"Always 50 %":          "reserved for the service",
			"GIobex":               "is reserved",
			"Админ":                "reserved for the service",
			"Модератор 7":          "reserved for the service",
			"ad'min bot":           "reserved for the service",
			"Ад’мин":               "reserved for the service",
			"Sibyl Eleven":         "ranked agent @oracle",
			"sibyl-e1even":         "ranked agent @oracle",
			"Oracle":               "ranked agent @oracle",
			"Ноrizon":              "mixes Cyrillic and Latin letters",
			"αgent":                "mixes Greek and Latin letters",
			"Sibyl Twelve":         "",
			"Market Maker":         "",
			"Admiral":              "",
			"Маркет":               "",
			"Эдит":                 "",
			"The League of Public and Private Sector Administrations": "",
			"Прогноз":               "",
			"GPT-Прогноз":           "",
			"予測エージェントAI":            "",
			"예측 bot":                "",
			"Ωmega 7":               "mixes Greek and Latin letters",
			"José":                  "",
			"Fəridə":                "",
			"🤖 Robot 🇳🇴":            "",
			"Nine 9":                "",
			strings.Repeat("é", 80): "",
		} {
			_, err := store.Create(t.Context(), db, agent.New{Profile: agent.Profile{Name: name}, At: at})
			switch {
			case want == "" && err != nil:
				t.Errorf("%q: %v", name, problem.As(err).Fields)
			case want != "" && (err == nil || problem.As(err).Status != 422 || len(problem.As(err).Fields) != 1 || !strings.Contains(problem.As(err).Fields[0].Message, want)):
				t.Errorf("%q: %+v, want %q", name, err, want)
			}
		}
	})
}

// TestNamesOfOthers checks that the rules hold for a change of name, that an official agent is an
// exception, and that a bad name from the identity provider doesn't keep its agent out.
func TestNamesOfOthers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
		create := func(store agent.Store, n agent.New) *agent.Agent {
			t.Helper()
			n.At = at
			a, err := store.Create(t.Context(), db, n)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		ranked := create(agent.Store{}, agent.New{Profile: agent.Profile{Name: "Sibyl"}})
		store := agent.Store{Names: names(t, ranked.ID)}
		ada := create(store, agent.New{Profile: agent.Profile{Name: "Ada"}})
		update := func(store agent.Store, id uuid.UUID, name string) error {
			return db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
				_, err := store.Update(ctx, tx, id, func(p *agent.Profile) { p.Name = name })
				return err
			})
		}
		rename := func(id uuid.UUID, name string) error { return update(store, id, name) }
		hope := create(agent.Store{}, agent.New{Profile: agent.Profile{Name: "Hope"}})
		for _, name := range []string{"НОРЕ", "HOPE"} {
			err := update(agent.Store{Names: names(t, hope.ID)}, ada.ID, name)
			if err == nil || problem.As(err).Status != 422 {
				t.Errorf("renamed to %q: %v", name, err)
			}
		}
		for _, name := range []string{"Market", "SibyI", "a\u200dda"} {
			if err := rename(ada.ID, name); err == nil || problem.As(err).Status != 422 {
				t.Errorf("renamed to %q: %v", name, err)
			}
		}
		for id, name := range map[uuid.UUID]string{ranked.ID: "SIBYL", ada.ID: "Ada 2"} {
			if err := rename(id, name); err != nil {
				t.Errorf("renamed to %q: %v", name, err)
			}
		}
		house := create(store, agent.New{Profile: agent.Profile{Name: "Pulsecast House"}, Official: true})
		if house.Name != "Pulsecast House" || house.Handle != "pulsecast-house" {
			t.Errorf("the operator's agent is %q, @%s", house.Name, house.Handle)
		}
		for i, name := range []string{"Market", "Sibyl", "Ad\u200bmin", "Мarket", "Админ", "Модератор", strings.Repeat("\x00", 3)} {
			subject := agent.New{Profile: agent.Profile{Name: name}, Issuer: "https://id.test", Subject: fmt.Sprint("s", i), At: at}
			a, created, err := store.BySubject(t.Context(), db, subject)
			if err != nil || !created || a.Name != a.Handle || !strings.HasPrefix(a.Handle, "agent-") {
				t.Errorf("%d: the agent of %q is %+v, %v", i, name, a, err)
			}
			again, created, err := store.BySubject(t.Context(), db, subject)
			if err != nil || created || again.ID != a.ID {
				t.Errorf("%d: on the second request the agent is %+v, %v", i, again, err)
			}
		}
	})
}

// TestOperatorCalledAgent checks that new agents get handles even if the operator's name is in every
// neutral handle.
func TestOperatorCalledAgent(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		store := agent.Store{Names: agent.NewNames("Agent", "https://forecast.example.org", nil)}
		for name, want := range map[string]string{"予測": "agent-", "Al": "agent-", "Ada": "ada"} {
			a, err := store.Create(t.Context(), db, agent.New{Profile: agent.Profile{Name: name}, At: at})
			if err != nil || !strings.HasPrefix(a.Handle, want) {
				t.Errorf("%q: %+v, %v", name, a, err)
			}
		}
	})
}
