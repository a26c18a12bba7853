// Package upstream builds the clients of the sources from the configuration.
package upstream

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/fetch"
	"github.com/pulsecast/pulsecast/app/source/gdelt"
	"github.com/pulsecast/pulsecast/app/source/hackernews"
	"github.com/pulsecast/pulsecast/app/source/polymarket"
	"github.com/pulsecast/pulsecast/app/source/reddit"
	"github.com/pulsecast/pulsecast/app/version"
)

// UserAgent returns how the service names itself to upstreams, with a link to cfg.BaseURL.
func UserAgent(cfg *config.Config) string {
	return "pulsecast/" + version.Build() + " (" + cfg.BaseURL + ")"
}

// Markets returns the client of the market source. It replaces options.UserAgent.
func Markets(cfg *config.Config, log *slog.Logger, now func() time.Time, options fetch.Options) *polymarket.Client {
	options.UserAgent = UserAgent(cfg)
	return polymarket.New(polymarket.Config{
		GammaURL: cfg.PolymarketURL, ClobURL: cfg.PolymarketClobURL,
		Fetch: fetch.New(options), Logger: log, Now: now,
	})
}

// gdeltPatience limits one request to GDELT, which takes more than ten seconds when it is busy.
const gdeltPatience = 20 * time.Second

// NewsSources names the news sources in order of preference.
var NewsSources = []string{reddit.NameOAuth, reddit.NameAtom, gdelt.Name, hackernews.Name}

// News returns the news sources in order of preference: Reddit's API (if there are credentials), Reddit's
// feeds, GDELT, and Hacker News. GDELT covers all communities, Hacker News two. News replaces
// options.UserAgent.
func News(cfg *config.Config, log *slog.Logger, now func() time.Time, options fetch.Options) []source.Member {
	redditAgent := reddit.UserAgent(version.Build(), cfg.RedditUser)
	options.UserAgent = redditAgent
	client := fetch.New(options)
	var members []source.Member
	if cfg.RedditClientID != "" {
		members = append(members, source.Member{Name: reddit.NameOAuth, Source: reddit.NewOAuth(reddit.OAuthConfig{
			AuthURL: cfg.RedditAuthURL, APIURL: cfg.RedditAPIURL,
			ClientID: cfg.RedditClientID, ClientSecret: string(cfg.RedditClientSecret),
			UserAgent: redditAgent, Over18: cfg.RedditOver18, Fetch: client, Logger: log, Now: now,
		})})
	}
	options.UserAgent = UserAgent(cfg)
	patient := options
	patient.AttemptTimeout = cmp.Or(options.AttemptTimeout, gdeltPatience)
	return append(members,
		source.Member{Name: reddit.NameAtom, Source: reddit.NewAtom(reddit.AtomConfig{
			URL: cfg.RedditRSSURL, UserAgent: redditAgent, Fetch: client, Logger: log, Now: now,
		})},
		source.Member{Name: gdelt.Name, Source: gdelt.New(gdelt.Config{
			URL: cfg.GDELTURL, Fetch: fetch.New(patient), Logger: log, Now: now,
		})},
		source.Member{Name: hackernews.Name, Source: hackernews.New(hackernews.Config{
			URL: cfg.HackerNewsURL, Fetch: fetch.New(options), Logger: log, Now: now,
		})})
}
