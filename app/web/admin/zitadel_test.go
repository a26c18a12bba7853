package admin_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/identity/identitytest"
)

// TestSignInAtRealProvider checks that an independent implementation of a provider signs an admin
// in if it grants the scope.
func TestSignInAtRealProvider(t *testing.T) {
	t.Parallel()
	z := identitytest.NewZitadel(t, base+callbackPath)
	with := func(scope string) *house {
		return openWith(t, openSQLite(t), base, func(cfg *config.Config) {
			cfg.IdentityURL, cfg.IdentityClientID, cfg.IdentityClientSecret = z.URL(), "web", "secret"
			cfg.IdentityScope, cfg.AdminScope = "profile", scope
		})
	}
	enter := func(h *house) (*browser, reply) {
		h.now = time.Now() // its tokens are dated by the real clock
		b := h.browser()
		return b, b.get(z.Login(b.get(providerPath).header.Get("Location")).String())
	}
	b, r := enter(with(identitytest.ZitadelScope))
	if r.status != 303 || b.get("/admin").text(".who-am-i .muted") != "test-user" {
		t.Errorf("granted: %d %s", r.status, r.text("main"))
	}
	b, r = enter(with("pulsecast:admin"))
	if r.status != 403 || !strings.Contains(r.text(".field-error"), "knows you as test-user, but did not grant you the scope pulsecast:admin") || b.get("/admin").status != 303 {
		t.Errorf("not granted: %d %s", r.status, r.text("main"))
	}
}
