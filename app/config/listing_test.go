package config_test

import (
	"testing"

	"github.com/pulsecast/pulsecast/app/config"
)

func TestSettingsShowNoSecret(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.PolymarketURL = "http://127.0.0.1:9"
	c.RedditClientSecret = "very-secret"
	c.DatabaseURL = "postgres://owner:hidden-word@db.test/pulse?sslpassword=hidden-too"
	c.DatabaseReplicaURL = "postgres://reader:hidden-word@copy.test/pulse"
	c.RedisURL = "redis://:hidden-word@cache.test:6379"
	want := map[string]config.Setting{
		"REDDIT_CLIENT_SECRET": {Value: "***", Set: true},
		"DATABASE_URL":         {Value: "postgres://owner:xxxxx@db.test/pulse?sslpassword=xxxxx", Set: true},
		"DATABASE_REPLICA_URL": {Value: "postgres://reader:xxxxx@copy.test/pulse", Set: true},
		"REDIS_URL":            {Value: "redis://:xxxxx@cache.test:6379", Set: true},
		"POLYMARKET_URL":       {Value: "http://127.0.0.1:9", Set: true},
		"MARKETS_INTERVAL":     {Value: "1m0s"},
		"REDDIT_OVER18":        {Value: "false"},
		"RATE_LIMIT_READS":     {Value: "1200/min"},
		"RANKED_MIN_EVENTS":    {Value: "30"},
	}
	for _, s := range c.Settings() {
		if w, ok := want[s.Name]; ok {
			w.Name = s.Name
			if s != w {
				t.Errorf("got %+v, want %+v", s, w)
			}
			delete(want, s.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}
