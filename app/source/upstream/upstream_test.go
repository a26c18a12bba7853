package upstream_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/source/fetch"
	"github.com/pulsecast/pulsecast/app/source/upstream"
)

// TestPreference checks that Reddit comes first, and the source that covers the fewest communities last.
func TestPreference(t *testing.T) {
	t.Parallel()
	for client, want := range map[string]string{"": "reddit-rss gdelt hackernews", "id": "reddit reddit-rss gdelt hackernews"} {
		cfg := config.Default()
		cfg.RedditClientID = client
		var names []string
		for _, member := range upstream.News(&cfg, slog.New(slog.DiscardHandler), time.Now, fetch.Options{}) {
			names = append(names, member.Name)
		}
		if client != "" && !slices.Equal(names, upstream.NewsSources) {
			t.Errorf("got sources %v, named %v", names, upstream.NewsSources)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("with the client id %q: got %s, want %s", client, got, want)
		}
	}
}
