package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"golang.org/x/oauth2"

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
		now := database.Stored(time.Now())
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
		app = s.register()
		kept, err := s.DB.NewSelect().Model((*oauth.Client)(nil)).Where("id <> ?", left[10]).Count(t.Context())
		if err != nil || kept != 10_000 {
			t.Errorf("%d clients beside the one that was used longest ago, %v; want 10,000", kept, err)
		}
		for range 5 { // the attacker goes on
			s.register()
		}
		app.signIn()
	})
}

// TestHalfOfTheClientsIsForEachKind checks that neither of the two kinds of clients can take the places of
// the other beyond half of them.
func TestHalfOfTheClientsIsForEachKind(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		now := database.Stored(time.Now())
		clients := make([]oauth.Client, 10_000)
		for i := range clients {
			clients[i] = oauth.Client{
				ID: fmt.Sprint(i), Name: "x", RedirectURIs: []string{callback}, CreatedAt: now, ExpiresAt: now.Add(time.Hour),
			}
			if i < len(clients)/2+3 {
				clients[i].ApprovedAt, clients[i].ExpiresAt = now, now.Add(time.Duration(i)*time.Minute+time.Hour)
			}
		}
		if _, err := s.DB.NewInsert().Model(&clients).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			s.register()
			approved, err := s.DB.NewSelect().Model((*oauth.Client)(nil)).Where("approved_at IS NOT NULL").Count(t.Context())
			if want := int64(max(5002-i, 5000)); err != nil || approved != want {
				t.Errorf("%d approved clients after %d registrations, %v; want %d", approved, i+1, err, want)
			}
		}
		var first string
		if err := s.DB.NewSelect().Model((*oauth.Client)(nil)).Column("id").Where("approved_at IS NOT NULL").
			Order("expires_at").Limit(1).Scan(t.Context(), &first); err != nil || first != "3" {
			t.Errorf("the approved client that was used longest ago is %s, %v; want 3", first, err)
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

// TestTokensOfAGrantAreBounded checks that renewing a grant often leaves few rows, because ending the grant deletes them
// all at once, and that a token whose row is gone still ends the grant.
func TestTokensOfAGrantAreBounded(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		p := s.register()
		first := p.signIn()
		last := first
		renew := func() {
			t.Helper()
			renewed, err := p.renew(last.RefreshToken)
			if err != nil {
				t.Fatal(err)
			}
			last = renewed
		}
		for range agent.MaxGrantTokens + 5 {
			renew()
		}
		for _, table := range []string{"refresh_tokens", "sessions"} {
			if n, err := s.DB.NewSelect().Table(table).Count(t.Context()); err != nil || n == 0 || n > agent.MaxGrantTokens {
				t.Errorf("%s has %d rows, %v; want at most %d", table, n, err, agent.MaxGrantTokens)
			}
		}
		s.later.Add(int64(11 * time.Second))
		renew()
		if n, err := s.DB.NewSelect().Table("refresh_tokens").Where("used_at IS NOT NULL").Count(t.Context()); err != nil || n != 1 {
			t.Errorf("%d used refresh tokens, %v; want only the latest", n, err)
		}
		if status, _ := s.call("GET", "/api/stats", last.AccessToken, ""); status != 200 {
			t.Errorf("the latest access token: %d", status)
		}
		_, err := p.renew(agent.NewRefreshToken(agent.NewFamily()))
		if err == nil || !strings.Contains(err.Error(), "invalid_grant") || len(s.grants(s.key)) != 1 {
			t.Errorf("a made-up refresh token: %v, and %d grants", err, len(s.grants(s.key)))
		}
		if _, err := p.renew(first.RefreshToken); err == nil || !strings.Contains(err.Error(), "invalid_grant") {
			t.Errorf("the first refresh token again: %v", err)
		}
		s.ended("a used refresh token was used again", p, last)
		for _, table := range []string{"refresh_tokens", "sessions"} {
			if n, err := s.DB.NewSelect().Table(table).Count(t.Context()); err != nil || n != 0 {
				t.Errorf("%s has %d rows of a grant that ended, %v", table, n, err)
			}
		}
	})
}

// TestRenewalsCountAsWrites checks that renewals count against the agent, whatever their addresses, and that a
// refused one uses neither the code nor the refresh token.
func TestRenewalsCountAsWrites(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		p := s.register()
		code := p.allow(p.address(), s.key)
		limited := func(what string, err error) {
			t.Helper()
			refused, ok := errors.AsType[*oauth2.RetrieveError](err)
			if !ok || refused.Response.StatusCode != http.StatusTooManyRequests || refused.Response.Header.Get("Retry-After") == "" {
				t.Errorf("%s: %v", what, err)
			}
		}
		token, err := p.exchange(code)
		for range 3 {
			if err != nil {
				t.Fatal(err)
			}
			token, err = p.renew(token.RefreshToken)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.renew(token.RefreshToken)
		limited("one renewal more", err)
		if status, code := s.call("POST", "/api/predictions", s.key, published("x")); status != 429 {
			t.Errorf("a prediction of the same agent: %d %s", status, code)
		}
		unredeemed := p.allow(p.address(), s.key)
		_, err = p.exchange(unredeemed)
		limited("a code", err)
		s.later.Add(int64(30 * time.Second))
		if _, err = p.renew(token.RefreshToken); err != nil {
			t.Errorf("after a while: %v", err)
		}
		if _, err = p.exchange(unredeemed); err != nil {
			t.Errorf("the code after a while: %v", err)
		}
	}, func(c *config.Config) { c.RateLimitWrites = config.Rate{N: 4, Per: time.Minute} })
}

// TestMadeUpTokens checks that a made-up code or token waits for no other writer, and counts as a failed credential of
// its address. A wrong grant_type waits for none either.
func TestMadeUpTokens(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		p := s.register()
		refresh := agent.NewRefreshToken(agent.NewFamily())
		send := func(path, fields string) reply {
			return s.post(path, "application/x-www-form-urlencoded", fields+"&client_id="+p.ClientID)
		}
		s.inTx(func(context.Context, bun.Tx) error {
			for _, c := range []struct {
				path, fields string
				status       int
				says         string
			}{
				{"/oauth/token", "grant_type=authorization_code&code=" + agent.NewCode(), 400, `"invalid_grant"`},
				{"/oauth/token", "grant_type=refresh_token&refresh_token=" + refresh, 400, `"invalid_grant"`},
				{"/oauth/token", "grant_type=password", 400, `"unsupported_grant_type"`},
				{"/oauth/token", "refresh_token=" + refresh, 400, `"invalid_request"`},
				{"/oauth/revoke", "token=" + refresh, 200, "{}"},
				{"/oauth/revoke", "token=" + agent.NewAccessToken(), 200, "{}"},
			} {
				if res := send(c.path, c.fields); res.status != c.status || !strings.Contains(string(res.body), c.says) {
					t.Errorf("%s: %d %s", c.fields, res.status, res.body)
				}
			}
			return nil
		})
		// A check that fails is no failed credential.
		rename := func(from, to string) {
			t.Helper()
			if _, err := s.DB.ExecContext(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
				t.Fatal(err)
			}
		}
		rename("refresh_tokens", "gone")
		for _, c := range [][2]string{{"/oauth/token", "grant_type=refresh_token&refresh_token=" + refresh}, {"/oauth/revoke", "token=" + refresh}} {
			if res := send(c[0], c[1]); res.status != 503 {
				t.Errorf("%s while tokens can't be read: %d %s", c[0], res.status, res.body)
			}
		}
		rename("gone", "refresh_tokens")
		for path, fields := range map[string]string{"/oauth/token": "grant_type=refresh_token&refresh_token=x", "/oauth/revoke": "token=x"} {
			if res := send(path, fields); res.status != 429 || res.header.Get("Retry-After") == "" {
				t.Errorf("one more at %s: %d %s", path, res.status, res.body)
			}
		}
		code := p.allow(p.address(), s.key)
		if _, err := p.exchange(code); err != nil {
			t.Errorf("a right code from the same address: %v", err)
		}
	}, func(c *config.Config) { c.RateLimitFailures = config.Rate{N: 4, Per: time.Hour} })
}

// TestTokensNeedOneConnection checks that a token request reads and writes in one transaction. If each needed a second
// connection, as many requests as the pool has connections would wait for each other.
func TestTokensNeedOneConnection(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		p := s.register()
		code := p.allow(p.address(), s.key)
		s.DB.SetMaxOpenConns(1)
		token, err := p.exchange(code)
		if err == nil {
			_, err = p.renew(token.RefreshToken)
		}
		if err != nil {
			t.Error(err)
		}
	})
}

// TestReadingsOfDocumentsAreBounded checks that hosts which don't answer can't make a node read any number of metadata
// documents at a time, and that one address or IPv6 /48 gets only a share of these readings.
func TestReadingsOfDocumentsAreBounded(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		document := func(name string) string {
			id := "https://app.example/" + name
			s.docs.put(id, `{"client_id":"`+id+`","redirect_uris":["`+callback+`"]}`)
			return s.program(id, callback).address()
		}
		known := document("known")
		s.open(known)
		begun, release := s.docs.hold(32)
		var running sync.WaitGroup
		defer running.Wait()
		defer release()
		for i := range 32 {
			from := fmt.Sprintf("192.0.2.%d", i/4)
			if i < 16 { // a /48
				from = fmt.Sprintf("2001:db8:1:%x::1", i/4)
			}
			address := document(fmt.Sprint(i))
			running.Go(func() { s.do("GET", address, "", "", "X-Forwarded-For", from) })
			<-begun
		}
		refused := func(status int, says, from string) {
			t.Helper()
			res := s.do("GET", document("one-more"), "", "", "X-Forwarded-For", from)
			if res.status != status || res.header.Get("Retry-After") != "5" || !strings.Contains(string(res.body), says) {
				t.Errorf("from %s: %d, Retry-After %s: %s", from, res.status, res.header.Get("Retry-After"), res.body)
			}
			if res := s.do("GET", known, "", "", "X-Forwarded-For", from); res.status != 200 {
				t.Errorf("a document that was read before, from %s: %d", from, res.status)
			}
		}
		refused(429, "4 other apps", "192.0.2.4")
		refused(429, "16 for its IPv6 /48", "2001:db8:1:ff::1")
		refused(503, "many apps", "192.0.2.99")
		release()
		running.Wait()
		for _, from := range []string{"192.0.2.4", "2001:db8:1:ff::1", "192.0.2.99"} {
			if res := s.do("GET", document("after-"+strings.ReplaceAll(from, ":", "-")), "", "", "X-Forwarded-For", from); res.status != 200 {
				t.Errorf("after the others, from %s: %d %s", from, res.status, res.body)
			}
		}
	}, func(c *config.Config) { c.TrustedProxies = "127.0.0.1" })
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
			{31 * 24 * time.Hour, [4]int64{1, 0, 0, 0}}, // refresh tokens go with their grant
			{91 * 24 * time.Hour, [4]int64{}},
		} {
			if got := kept(c.after); got != c.want {
				t.Errorf("after %v: %v, want %v", c.after, got, c.want)
			}
		}
	})
}
