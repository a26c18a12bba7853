package oauth_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/oauth"
)

const registration = `{"client_name":"A program","redirect_uris":["` + callback + `"]}`

// TestRegistrationCeiling checks that clients can't fill the database with registrations, and that neither unknown
// clients nor those that people have allowed can keep a new app out.
func TestRegistrationCeiling(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		allowed := s.register()
		allowed.signIn()
		now := database.Now(time.Now())
		if _, err := s.DB.NewUpdate().Model((*oauth.Client)(nil)).Set("created_at = ?", now.AddDate(0, 0, -1)).
			Where("id = ?", allowed.ClientID).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		clients := make([]oauth.Client, 10_000-1)
		for i := range clients {
			at := now.Add(time.Duration(i-len(clients)) * time.Second)
			clients[i] = oauth.Client{
				ID: fmt.Sprint(i), Name: "x", RedirectURIs: []string{callback},
				CreatedAt: at, ExpiresAt: at.Add(oauth.UnapprovedLifetime),
			}
		}
		if _, err := s.DB.NewInsert().Model(&clients).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		app := s.register()
		for range 5 { // the attacker goes on
			s.register()
		}
		app.signIn()
		var left []string
		err := s.DB.NewSelect().Model((*oauth.Client)(nil)).Column("id").OrderExpr("created_at").Scan(t.Context(), &left)
		if err != nil {
			t.Fatal(err)
		}
		if len(left) != 10_000 || left[0] != allowed.ClientID || left[1] != "6" {
			t.Errorf("%d clients are left, the oldest are %s; want 10,000, the allowed one and 6", len(left), left[:2])
		}
		for _, used := range []struct {
			where   string
			expires time.Time
		}{{"id <> ?", now.Add(2 * time.Hour)}, {"id = ?", now.Add(time.Hour)}} {
			_, err := s.DB.NewUpdate().Model((*oauth.Client)(nil)).Set("approved_at = ?", now).Set("expires_at = ?", used.expires).
				Where(used.where, left[10]).Exec(t.Context())
			if err != nil {
				t.Fatal(err)
			}
		}
		s.register().signIn()
		kept, err := s.DB.NewSelect().Model((*oauth.Client)(nil)).Where("id <> ?", left[10]).Count(t.Context())
		if err != nil || kept != 10_000 {
			t.Errorf("%d clients beside the one that was used longest ago, %v; want 10,000", kept, err)
		}
	})
}

// TestRegistrationRate checks that one address can register 60 clients an hour.
func TestRegistrationRate(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		for range 60 {
			s.register()
		}
		if res := s.post("/oauth/register", "application/json", registration); res.status != 429 || res.header.Get("Retry-After") == "" {
			t.Errorf("one more: %d", res.status)
		}
	}, func(c *config.Config) { c.RateLimitWrites = config.Rate{N: 120, Per: time.Minute} })
}

// TestPrune checks that expired rows are deleted, and that others are kept.
func TestPrune(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		p := s.register()
		p.signIn()
		kept := func(after time.Duration) (out [4]int64) {
			now := time.Now().Add(after)
			if _, err := oauth.Prune(t.Context(), s.DB, now); err != nil {
				t.Fatal(err)
			}
			if _, err := (agent.Store{}).Prune(t.Context(), s.DB, now); err != nil {
				t.Fatal(err)
			}
			for i, table := range []string{"oauth_clients", "oauth_codes", "grants", "refresh_tokens"} {
				n, err := s.DB.NewSelect().Table(table).Count(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				out[i] = n
			}
			return out
		}
		for _, c := range []struct {
			after time.Duration
			want  [4]int64
		}{
			{23 * time.Hour, [4]int64{1, 1, 1, 1}},
			{25 * time.Hour, [4]int64{1, 0, 1, 1}},
			{31 * 24 * time.Hour, [4]int64{1, 0, 0, 0}},
			{91 * 24 * time.Hour, [4]int64{}},
		} {
			if got := kept(c.after); got != c.want {
				t.Errorf("after %v: %v, want %v", c.after, got, c.want)
			}
		}
	})
}
