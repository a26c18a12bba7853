package config_test

import (
	"testing"

	"github.com/pulsecast/pulsecast/app/config"
)

// TestDefaults pins the names and defaults of settings, because operators and scripts rely on them.
func TestDefaults(t *testing.T) {
	t.Setenv("ARCHIVE_URL", "off") // a default doesn't depend on the environment
	const any = "*"                // the default isn't promised
	want := map[string]string{
		"ADDR": "127.0.0.1:8080", "BASE_URL": "", "DATABASE_URL": "sqlite://data/pulsecast.db", "REDIS_URL": "",
		"DATABASE_REPLICA_URL": "", "REPLICA_MAX_LAG": "2s",
		"IDENTITY_URL": "", "IDENTITY_CLIENT_ID": "", "IDENTITY_CLIENT_SECRET": any, "IDENTITY_AUDIENCE": "", "IDENTITY_SCOPE": "",
		"IDENTITY_OWNER_CLAIM": "", "ADMIN_SCOPE": "", "REGISTRATION": "closed", "REGISTRATION_RATE": "5/h",
		"POLYMARKET_URL": any, "POLYMARKET_CLOB_URL": any, "REDDIT_AUTH_URL": any, "REDDIT_API_URL": any, "REDDIT_RSS_URL": any,
		"REDDIT_CLIENT_ID": "", "REDDIT_CLIENT_SECRET": any, "REDDIT_USER": any, "REDDIT_OVER18": "false", "HACKERNEWS_URL": any,
		"MARKETS_INTERVAL": "1m0s", "NEWS_INTERVAL": "2m0s", "EDGE_FILTER": "on", "TRUSTED_PROXIES": "",
		"RATE_LIMIT_READS": "1200/min", "RATE_LIMIT_WRITES": "120/min", "RATE_LIMIT_FAILURES": "30/min", "RATE_LIMIT_SNAPSHOT": "100/s",
		"RANKED_MIN_EVENTS": "30", "RANKED_MIN_CATEGORY_EVENTS": "15", "RANKED_MIN_DAYS": "14", "RANKED_MIN_LIQUIDITY": "1000",
		"ARCHIVE_URL":        "file://data/archive",
		"RELEASE_POLYMARKET": "true", "RELEASE_HACKERNEWS": "true", "RELEASE_GDELT": "true", "RELEASE_REDDIT": "false",
		"DRAIN": "5s", "BACKUP_DIR": "", "BACKUP_EVERY": any, "BACKUP_KEEP": any,
		"TLS_CERT": "", "TLS_KEY": "", "OPERATOR_NAME": "", "OPERATOR_CONTACT": "", "LOG_FORMAT": any, "METRICS_ADDR": "",
	}
	cfg := config.Default()
	for _, s := range cfg.Settings() {
		if value, known := want[s.Name]; known && value != any && s.Value != value {
			t.Errorf("%s is %q by default, want %q", s.Name, s.Value, value)
		}
		delete(want, s.Name)
	}
	for name := range want {
		t.Errorf("there is no setting %s", name)
	}
}
