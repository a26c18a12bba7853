package config_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/config"
)

func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	c := config.Default()
	c.IdentityClientSecret = secret
	var shown strings.Builder
	for _, handler := range []slog.Handler{slog.NewTextHandler(&shown, nil), slog.NewJSONHandler(&shown, nil)} {
		slog.New(handler).Info("set", "secret", c.IdentityClientSecret)
	}
	fmt.Fprintf(&shown, "%v %+v %#v %s", c, c, c, c.IdentityClientSecret)
	if got := shown.String(); strings.Contains(got, secret) || strings.Count(got, "***") < 6 {
		t.Errorf("shown: %s", got)
	}
}

// TestServersOfTheDatabase checks that wrong Postgres settings are refused in one line that names the
// variable.
func TestServersOfTheDatabase(t *testing.T) {
	t.Parallel()
	const primary, replica = "postgres://a.test/pulse", "postgres://b.test/pulse"
	for _, c := range []struct {
		database, replica, partitions string
		lag                           time.Duration
		says                          string
	}{
		{primary, replica, "monthly", 2 * time.Second, ""},
		{primary, "", "off", 0, ""}, // the bound applies only with a replica
		{"postgresql://a.test/pulse", "postgresql://b.test/pulse", "off", time.Hour, ""},
		{"sqlite://x.db", "", "off", 0, ""},
		{"sqlite://x.db", replica, "off", time.Second, "DATABASE_REPLICA_URL: needs Postgres"},
		{primary, "sqlite://x.db", "off", time.Second, "DATABASE_REPLICA_URL: must start with postgres://"},
		{primary, "b.test", "off", time.Second, "DATABASE_REPLICA_URL: must start with postgres://"},
		{primary, replica, "off", 499 * time.Millisecond, "REPLICA_MAX_LAG: must be between 500ms and 1h, got 499ms"},
		{primary, replica, "off", time.Hour + 1, "REPLICA_MAX_LAG: must be between"},
		{primary, replica, "off", -time.Second, "REPLICA_MAX_LAG: must be between"},
		{"sqlite://x.db", "", "monthly", 0, "DATABASE_PARTITIONS: monthly needs Postgres"},
		{"mysql://a.test", "", "off", 0, "DATABASE_URL: must start with"},
	} {
		cfg := config.Default()
		cfg.DatabaseURL, cfg.DatabaseReplicaURL, cfg.DatabasePartitions, cfg.ReplicaMaxLag = c.database, c.replica, c.partitions, c.lag
		said := ""
		if err := cfg.Check(); err != nil {
			said = err.Error()
		}
		if !strings.HasPrefix(said, c.says) || (c.says == "") != (said == "") || strings.Contains(said, "\n") {
			t.Errorf("%+v: %q", c, said)
		}
	}
}

// TestEmptyAddressOfASource checks that an empty address of a source, as an unset variable of a script leaves it, means
// the default.
func TestEmptyAddressOfASource(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]func(*config.Config) *string{
		"POLYMARKET_URL":      func(c *config.Config) *string { return &c.PolymarketURL },
		"POLYMARKET_CLOB_URL": func(c *config.Config) *string { return &c.PolymarketClobURL },
		"REDDIT_AUTH_URL":     func(c *config.Config) *string { return &c.RedditAuthURL },
		"REDDIT_API_URL":      func(c *config.Config) *string { return &c.RedditAPIURL },
		"REDDIT_RSS_URL":      func(c *config.Config) *string { return &c.RedditRSSURL },
		"GDELT_URL":           func(c *config.Config) *string { return &c.GDELTURL },
		"HACKERNEWS_URL":      func(c *config.Config) *string { return &c.HackerNewsURL },
	} {
		c, standard := config.Default(), config.Default()
		*address(&c) = ""
		if err := c.Check(); err != nil || *address(&c) != *address(&standard) {
			t.Errorf("%s: %q, %v; want %q", name, *address(&c), err, *address(&standard))
		}
	}
}

// TestAdminScopeTellsAdminsFromOthers checks that a scope that everyone is granted is refused, because it
// would make everyone an admin.
func TestAdminScopeTellsAdminsFromOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ url, client, agents, admins, says string }{
		{"", "", "", "", ""},
		{"https://id.test", "us", "forecasts", "", ""},
		{"https://id.test", "us", "forecasts", "pulsecast:admin", ""},
		{"https://id.test", "us", "forecasts", "openid forecasts admin", ""},
		{"", "", "", "admin", "ADMIN_SCOPE: needs IDENTITY_URL"},
		{"https://id.test", "", "forecasts", "admin", "ADMIN_SCOPE: needs IDENTITY_CLIENT_ID"},
		{"https://id.test", "us", "forecasts", "openid", "ADMIN_SCOPE: \"openid\" is granted to people who are not admins"},
		{"https://id.test", "us", "forecasts", "profile email", "ADMIN_SCOPE: "},
		{"https://id.test", "us", "forecasts write", "write forecasts", "ADMIN_SCOPE: "},
		{"https://id.test", "us", "forecasts", " ", "ADMIN_SCOPE: "},
		{"https://id.test", "us", "forecasts", "ad\"min", "ADMIN_SCOPE: "},
		{"https://id.test", "us", "forecasts", "admin\nx", "ADMIN_SCOPE: "},
	} {
		cfg := config.Default()
		cfg.IdentityURL, cfg.IdentityClientID, cfg.IdentityScope, cfg.AdminScope = c.url, c.client, c.agents, c.admins
		said := ""
		if err := cfg.Check(); err != nil {
			said = err.Error()
		}
		if !strings.HasPrefix(said, c.says) || (c.says == "") != (said == "") || strings.Contains(said, "\n") {
			t.Errorf("%+v: %q", c, said)
		}
	}
}

// TestNoSettingIsIgnored checks that settings without the one that they need are refused at the start, in one line that
// names what is missing.
func TestNoSettingIsIgnored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(c *config.Config)
		says   string
	}{
		"defaults":               {func(*config.Config) {}, ""},
		"an address":             {func(c *config.Config) { c.BaseURL = "https://pulse.test" }, ""},
		"an address and a slash": {func(c *config.Config) { c.BaseURL = "https://pulse.test:8443/" }, ""},
		"a path":                 {func(c *config.Config) { c.BaseURL = "https://pulse.test/forecasts/" }, `BASE_URL: "https://pulse.test/forecasts" has more than a scheme and a host; the service is at the root of its host, so send https://pulse.test`},
		"a query":                {func(c *config.Config) { c.BaseURL = "https://pulse.test?x=1" }, "BASE_URL: "},
		"a fragment":             {func(c *config.Config) { c.BaseURL = "https://pulse.test#x" }, "BASE_URL: "},
		"a password":             {func(c *config.Config) { c.BaseURL = "https://me:secret@pulse.test" }, "BASE_URL: "},
		"a schedule":             {func(c *config.Config) { c.BackupDir, c.BackupEvery, c.BackupKeep = "b", time.Hour, 3 }, ""},
		"a folder alone":         {func(c *config.Config) { c.BackupDir = "b" }, "BACKUP_EVERY: needed with BACKUP_DIR"},
		"a number alone":         {func(c *config.Config) { c.BackupKeep = 30 }, "BACKUP_EVERY: needed with BACKUP_KEEP"},
		"a client alone":         {func(c *config.Config) { c.IdentityClientID = "us" }, "IDENTITY_CLIENT_ID: needs IDENTITY_URL"},
		"a secret alone":         {func(c *config.Config) { c.IdentityClientSecret = "secret" }, "IDENTITY_CLIENT_SECRET: needs IDENTITY_URL"},
		"an audience alone":      {func(c *config.Config) { c.IdentityAudience = "us" }, "IDENTITY_AUDIENCE: needs IDENTITY_URL"},
		"a scope alone":          {func(c *config.Config) { c.IdentityScope = "forecasts" }, "IDENTITY_SCOPE: needs IDENTITY_URL"},
		"a claim alone":          {func(c *config.Config) { c.IdentityOwnerClaim = "owner" }, "IDENTITY_OWNER_CLAIM: needs IDENTITY_URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config.Default()
			c.change(&cfg)
			err := cfg.Check()
			if err == nil {
				err = cfg.CheckServed()
			}
			said := ""
			if err != nil {
				said = err.Error()
			}
			if !strings.HasPrefix(said, c.says) || (c.says == "") != (said == "") || strings.Contains(said, "\n") || strings.Contains(said, "secret@") {
				t.Errorf("%q, want %q", said, c.says)
			}
		})
	}
}

// TestLimitOffForAddressesToo checks that a limit which is off for each key is off for an address as well.
func TestLimitOffForAddressesToo(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.RateLimitWrites = config.Rate{}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	if !c.RateLimitWritesAddress.Off() || c.RateLimitReadsAddress.Off() {
		t.Errorf("with writes off: writes of an address %s, reads %s", c.RateLimitWritesAddress, c.RateLimitReadsAddress)
	}
	c.RateLimitReads = config.Rate{}
	if err := c.Check(); err != nil || !c.RateLimitReadsAddress.Off() {
		t.Errorf("with reads off: reads of an address %s, %v", c.RateLimitReadsAddress, err)
	}
}
