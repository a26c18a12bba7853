// Package config reads flags and environment variables into one checked struct. Their names are part of the
// contract with operators. Each variable is also a flag of serve and worker.
package config

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Config is every setting of the service. The tags are read by kong.
type Config struct {
	Addr               string        `env:"ADDR" default:"127.0.0.1:8080" help:"Address to listen on, host:port."`
	BaseURL            string        `env:"BASE_URL" name:"base-url" help:"Public address of the service, used in every link it writes. Default: made from ADDR."`
	DatabaseURL        string        `env:"DATABASE_URL" name:"database-url" default:"sqlite://data/pulsecast.db" help:"sqlite://PATH or postgres://…"`
	DatabaseReplicaURL string        `env:"DATABASE_REPLICA_URL" name:"database-replica-url" help:"postgres://… of a streaming replica for public reads; unset: none."`
	ReplicaMaxLag      time.Duration `env:"REPLICA_MAX_LAG" name:"replica-max-lag" default:"2s" help:"How far the replica may be behind. If it is further behind, reads go to the primary."`
	DatabasePartitions string        `env:"DATABASE_PARTITIONS" name:"database-partitions" default:"off" enum:"off,monthly" help:"Divide prices and the ledger of a new Postgres database by month: off or monthly."`
	RedisURL           string        `env:"REDIS_URL" name:"redis-url" help:"redis://… for shared signals and limits; unset: each process has its own."`

	IdentityURL          string `env:"IDENTITY_URL" name:"identity-url" group:"Identity" help:"Central identity provider; unset: the local registry."`
	IdentityClientID     string `env:"IDENTITY_CLIENT_ID" name:"identity-client-id" group:"Identity" help:"Our client id at the provider."`
	IdentityClientSecret Secret `env:"IDENTITY_CLIENT_SECRET" name:"identity-client-secret" group:"Identity" help:"Our client secret at the provider."`
	IdentityAudience     string `env:"IDENTITY_AUDIENCE" name:"identity-audience" group:"Identity" help:"Audience that a key must name."`
	IdentityScope        string `env:"IDENTITY_SCOPE" name:"identity-scope" group:"Identity" help:"Scope that a key must have."`
	IdentityOwnerClaim   string `env:"IDENTITY_OWNER_CLAIM" name:"identity-owner-claim" group:"Identity" help:"Claim that names an agent's owner; at most three agents of one owner are ranked."`
	AdminScope           string `env:"ADMIN_SCOPE" name:"admin-scope" group:"Identity" help:"The provider's scope that makes a person an admin; unset: admins sign in with a password only."`
	Registration         string `env:"REGISTRATION" default:"closed" enum:"open,closed" group:"Identity" help:"Whether agents may register themselves in the local registry: open or closed."`

	PolymarketURL      string `env:"POLYMARKET_URL" name:"polymarket-url" default:"https://gamma-api.polymarket.com" group:"Sources" help:"Base address of the market source."`
	PolymarketClobURL  string `env:"POLYMARKET_CLOB_URL" name:"polymarket-clob-url" default:"https://clob.polymarket.com" group:"Sources" help:"Base address of its order book, which names winners."`
	RedditAuthURL      string `env:"REDDIT_AUTH_URL" name:"reddit-auth-url" default:"https://www.reddit.com" group:"Sources" help:"Base address of Reddit's token endpoint."`
	RedditAPIURL       string `env:"REDDIT_API_URL" name:"reddit-api-url" default:"https://oauth.reddit.com" group:"Sources" help:"Base address of Reddit's listing API."`
	RedditRSSURL       string `env:"REDDIT_RSS_URL" name:"reddit-rss-url" default:"https://www.reddit.com" group:"Sources" help:"Base address of Reddit's Atom feeds."`
	RedditClientID     string `env:"REDDIT_CLIENT_ID" name:"reddit-client-id" group:"Sources" help:"Application id at Reddit; unset: the Atom feeds are read."`
	RedditClientSecret Secret `env:"REDDIT_CLIENT_SECRET" name:"reddit-client-secret" group:"Sources" help:"Application secret at Reddit."`
	RedditUser         string `env:"REDDIT_USER" name:"reddit-user" default:"pulsecast" group:"Sources" help:"Account named in the User-Agent."`
	RedditOver18       bool   `env:"REDDIT_OVER18" name:"reddit-over18" group:"Sources" help:"Keep posts marked over 18."`
	GDELTURL           string `env:"GDELT_URL" name:"gdelt-url" default:"https://api.gdeltproject.org" group:"Sources" help:"Base address of the news source that is read if Reddit doesn't answer."`
	HackerNewsURL      string `env:"HACKERNEWS_URL" name:"hackernews-url" default:"https://hn.algolia.com" group:"Sources" help:"Base address of the news source that is read if GDELT doesn't answer either."`

	MarketsInterval time.Duration `env:"MARKETS_INTERVAL" name:"markets-interval" default:"60s" group:"Sources" help:"Time between two readings of the markets."`
	NewsInterval    time.Duration `env:"NEWS_INTERVAL" name:"news-interval" default:"120s" group:"Sources" help:"Time between two readings of the news."`

	EdgeFilter             string `env:"EDGE_FILTER" name:"edge-filter" default:"on" enum:"on,off" group:"Limits" help:"Refuse default User-Agents of scripting libraries below /api/intelligence."`
	TrustedProxies         string `env:"TRUSTED_PROXIES" name:"trusted-proxies" group:"Limits" help:"Comma-separated addresses or CIDR ranges of proxies whose X-Forwarded-For is trusted."`
	RateLimitReads         Rate   `env:"RATE_LIMIT_READS" name:"rate-limit-reads" default:"1200/min" group:"Limits" help:"Units of reading per key, or per address without a key: N/s, N/min, N/h or off."`
	RateLimitReadsAddress  Rate   `env:"RATE_LIMIT_READS_ADDRESS" name:"rate-limit-reads-address" default:"3600/min" group:"Limits" help:"Units of reading by all keys of one address, and by all keys of one owner if it is known; off with RATE_LIMIT_READS."`
	RateLimitWrites        Rate   `env:"RATE_LIMIT_WRITES" name:"rate-limit-writes" default:"120/min" group:"Limits" help:"Publications and other writes, per agent."`
	RateLimitWritesAddress Rate   `env:"RATE_LIMIT_WRITES_ADDRESS" name:"rate-limit-writes-address" default:"600/min" group:"Limits" help:"Publications and other writes by all agents of one address, and by all agents of one owner if it is known; off with RATE_LIMIT_WRITES."`
	RegistrationRate       Rate   `env:"REGISTRATION_RATE" name:"registration-rate" default:"5/h" group:"Limits" help:"New agents per address; four times as many per IPv6 /48."`
	RegistrationCeiling    Rate   `env:"REGISTRATION_CEILING" name:"registration-ceiling" default:"200/h" group:"Limits" help:"New agents of the whole service."`
	RateLimitFailures      Rate   `env:"RATE_LIMIT_FAILURES" name:"rate-limit-failures" default:"30/min" group:"Limits" help:"Failed credentials per address, and checks of new keys without success."`
	RateLimitSnapshot      Rate   `env:"RATE_LIMIT_SNAPSHOT" name:"rate-limit-snapshot" default:"100/s" group:"Limits" help:"Signals from memory, MCP requests, health, documents and files, per address and node."`

	StreamsMax        int `env:"STREAMS_MAX" name:"streams-max" default:"2000" group:"Limits" help:"Streams of GET /api/events on a node; 0: none."`
	StreamsPerAddress int `env:"STREAMS_PER_ADDRESS" name:"streams-per-address" default:"20" group:"Limits" help:"Streams of one address on a node; four times as many per IPv6 /48."`

	RankedMinEvents         int `env:"RANKED_MIN_EVENTS" name:"ranked-min-events" default:"30" group:"Ranking" help:"Settled events before an agent is ranked."`
	RankedMinCategoryEvents int `env:"RANKED_MIN_CATEGORY_EVENTS" name:"ranked-min-category-events" default:"15" group:"Ranking" help:"Settled events in a category before an agent is ranked there."`
	RankedMinDays           int `env:"RANKED_MIN_DAYS" name:"ranked-min-days" default:"14" group:"Ranking" help:"Different UTC days with a prediction on a market before an agent is ranked."`
	RankedMinLiquidity      int `env:"RANKED_MIN_LIQUIDITY" name:"ranked-min-liquidity" default:"1000" group:"Ranking" help:"Least liquidity of a market that gives a baseline, in US dollars; 0: no minimum."`

	OperatorName    string `env:"OPERATOR_NAME" name:"operator-name" group:"Operation" help:"Who runs this installation, for /terms, /privacy and /contact."`
	OperatorContact string `env:"OPERATOR_CONTACT" name:"operator-contact" group:"Operation" help:"Mail address or http(s) address of the operator, for /terms, /privacy, /contact and security.txt."`
	TermsFile       string `env:"TERMS_FILE" name:"terms-file" group:"Operation" help:"File with your own text of /terms, in Markdown; unset: the default text."`
	PrivacyFile     string `env:"PRIVACY_FILE" name:"privacy-file" group:"Operation" help:"File with your own text of /privacy, in Markdown; unset: the default text."`

	ArchiveURL string `env:"ARCHIVE_URL" name:"archive-url" default:"file://data/archive" group:"Operation" help:"Where the archive of everything observed is kept: file://PATH, s3://bucket/prefix or off."`

	ReleasePolymarket bool   `env:"RELEASE_POLYMARKET" name:"release-polymarket" default:"true" negatable:"" group:"Operation" help:"Publish archived markets and prices of Polymarket under /api/data."`
	ReleaseHackerNews bool   `env:"RELEASE_HACKERNEWS" name:"release-hackernews" default:"true" negatable:"" group:"Operation" help:"Publish archived news of Hacker News."`
	ReleaseGDELT      bool   `env:"RELEASE_GDELT" name:"release-gdelt" default:"true" negatable:"" group:"Operation" help:"Publish archived headlines of GDELT."`
	ReleaseReddit     bool   `env:"RELEASE_REDDIT" name:"release-reddit" default:"false" negatable:"" group:"Operation" help:"Publish archived posts of Reddit. Read its terms first: they are said to forbid it without an agreement."`
	DataLicense       string `env:"DATA_LICENSE" name:"data-license" default:"CC BY 4.0" group:"Operation" help:"Licence of the predictions, scores and boards under /api/data."`

	BackupDir   string        `env:"BACKUP_DIR" name:"backup-dir" group:"Operation" help:"Folder for scheduled backups; made if it is missing."`
	BackupEvery time.Duration `env:"BACKUP_EVERY" name:"backup-every" default:"0s" group:"Operation" help:"Time between two backups, such as 24h; 0s: none."`
	BackupKeep  int           `env:"BACKUP_KEEP" name:"backup-keep" default:"7" group:"Operation" help:"How many backups to keep."`
	TLSCert     string        `env:"TLS_CERT" name:"tls-cert" group:"Operation" help:"File with the certificate and its chain, in PEM, to serve HTTPS; read again when it changes. Unset: HTTP."`
	TLSKey      string        `env:"TLS_KEY" name:"tls-key" group:"Operation" help:"File with the key of the certificate."`
	Drain       time.Duration `env:"DRAIN" name:"drain" default:"5s" group:"Operation" help:"Time between SIGTERM and the end of new connections; /readyz says 503 meanwhile."`

	LogFormat   string `env:"LOG_FORMAT" name:"log-format" default:"text" enum:"text,json,off" group:"Operation" help:"Format of the log on standard error; off keeps errors only, without the access log."`
	MetricsAddr string `env:"METRICS_ADDR" name:"metrics-addr" group:"Operation" help:"Address for Prometheus' GET /metrics; unset: not served."`

	AlertWebhookURL Secret `env:"ALERT_WEBHOOK_URL" name:"alert-webhook-url" group:"Operation" help:"Address that gets one JSON message when something needs a person, and one when it is over."`
}

// RegistrationOpen reports whether agents can register themselves.
func (c *Config) RegistrationOpen() bool { return c.IdentityURL == "" && c.Registration == "open" }

// Released returns for each source whether its archived files are published. Samples always are.
func (c *Config) Released() map[string]bool {
	return map[string]bool{
		"polymarket": c.ReleasePolymarket, "hackernews": c.ReleaseHackerNews, "gdelt": c.ReleaseGDELT, "reddit": c.ReleaseReddit, "reddit-rss": c.ReleaseReddit,
		"sample": true,
	}
}

// Secret is a setting that is masked in logs and in --help.
type Secret string

// String masks the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// LogValue masks the secret in every log format. Without it, a JSON log would contain the secret.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// GoString masks the secret in %#v.
func (s Secret) GoString() string { return s.String() }

// Check validates the settings together and sets the derived ones. The error is one line that names the
// wrong variable.
func (c *Config) Check() error {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return fmt.Errorf("ADDR: %q is not host:port", c.Addr)
	}
	c.derive(host)
	if err := c.checkAddresses(); err != nil {
		return err
	}
	if err := c.checkDatabase(); err != nil {
		return err
	}
	if c.ArchiveURL != "off" && !hasScheme(c.ArchiveURL, "file", "s3") {
		return fmt.Errorf("ARCHIVE_URL: must be file://PATH, s3://bucket/prefix or off")
	}
	if c.RedisURL != "" && !hasScheme(c.RedisURL, "redis", "rediss", "unix") {
		return fmt.Errorf("REDIS_URL: must start with redis://, rediss:// or unix://")
	}
	if err := c.checkIdentity(); err != nil {
		return err
	}
	if err := c.checkAdmins(); err != nil {
		return err
	}
	if c.RedditClientID != "" && c.RedditClientSecret == "" {
		return fmt.Errorf("REDDIT_CLIENT_SECRET: needed with REDDIT_CLIENT_ID")
	}
	if checkBase("ALERT_WEBHOOK_URL", string(c.AlertWebhookURL)) != nil {
		return fmt.Errorf("ALERT_WEBHOOK_URL: not an http(s) address") // without the value: it may be a secret
	}
	if _, err := c.Proxies(); err != nil {
		return err
	}
	if err := c.checkOperator(); err != nil {
		return err
	}
	if err := c.checkTLS(); err != nil {
		return err
	}
	return c.checkNumbers()
}

// derive sets the settings that follow from others. host is the one of Addr.
func (c *Config) derive(host string) {
	if c.BaseURL == "" {
		c.BaseURL = c.Scheme() + "://" + dialable(host, c.Addr)
	}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	if c.RateLimitReads.Off() {
		c.RateLimitReadsAddress = Rate{}
	}
	if c.RateLimitWrites.Off() {
		c.RateLimitWritesAddress = Rate{}
	}
}

// checkAddresses checks the addresses of this service, of the identity provider and of the sources. An empty address of a
// source, as an unset variable of a script leaves it, becomes the default.
func (c *Config) checkAddresses() error {
	d := Default()
	for _, a := range []struct {
		name     string
		address  *string
		standard string // replaces an empty address
	}{
		{"BASE_URL", &c.BaseURL, ""}, {"IDENTITY_URL", &c.IdentityURL, ""},
		{"POLYMARKET_URL", &c.PolymarketURL, d.PolymarketURL}, {"POLYMARKET_CLOB_URL", &c.PolymarketClobURL, d.PolymarketClobURL},
		{"REDDIT_AUTH_URL", &c.RedditAuthURL, d.RedditAuthURL}, {"REDDIT_API_URL", &c.RedditAPIURL, d.RedditAPIURL},
		{"REDDIT_RSS_URL", &c.RedditRSSURL, d.RedditRSSURL}, {"GDELT_URL", &c.GDELTURL, d.GDELTURL},
		{"HACKERNEWS_URL", &c.HackerNewsURL, d.HackerNewsURL},
	} {
		*a.address = cmp.Or(*a.address, a.standard)
		if err := checkBase(a.name, *a.address); err != nil {
			return err
		}
	}
	return nil
}

// CheckServed checks what Check can't, because a replay serves its worlds below a path: a process that serves from these
// settings has all addresses at the root of its host. Call it after Check.
func (c *Config) CheckServed() error {
	u, err := url.Parse(c.BaseURL)
	if err != nil {
		return fmt.Errorf("BASE_URL: %q is not an http(s) address", c.BaseURL)
	}
	if u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return fmt.Errorf("BASE_URL: %q has more than a scheme and a host; the service is at the root of its host, so send %s://%s", u.Redacted(), u.Scheme, u.Host)
	}
	return nil
}

// checkIdentity refuses a provider all of whose keys would be accepted. Without a provider it refuses the settings of one,
// which would be ignored.
func (c *Config) checkIdentity() error {
	if c.IdentityURL != "" {
		if c.IdentityAudience == "" && c.IdentityScope == "" {
			return fmt.Errorf("IDENTITY_AUDIENCE: set it or IDENTITY_SCOPE; without both, every key of the provider would be accepted")
		}
		return nil
	}
	for _, s := range []struct{ name, value string }{
		{"IDENTITY_CLIENT_ID", c.IdentityClientID}, {"IDENTITY_CLIENT_SECRET", string(c.IdentityClientSecret)},
		{"IDENTITY_AUDIENCE", c.IdentityAudience}, {"IDENTITY_SCOPE", c.IdentityScope}, {"IDENTITY_OWNER_CLAIM", c.IdentityOwnerClaim},
	} {
		if s.value != "" {
			return fmt.Errorf("%s: needs IDENTITY_URL, the address of the provider; without it, keys come from the local registry", s.name)
		}
	}
	return nil
}

// openScopes are granted to everyone who signs in anywhere.
var openScopes = []string{"openid", "profile", "email", "address", "phone", "offline_access"}

// checkAdmins checks that ADMIN_SCOPE distinguishes admins from other users.
func (c *Config) checkAdmins() error {
	scopes := strings.Fields(c.AdminScope)
	switch {
	case c.AdminScope == "":
		return nil
	case c.IdentityURL == "":
		return fmt.Errorf("ADMIN_SCOPE: needs IDENTITY_URL, the provider that grants it")
	case c.IdentityClientID == "":
		return fmt.Errorf("ADMIN_SCOPE: needs IDENTITY_CLIENT_ID, our client at the provider")
	case strings.ContainsFunc(c.AdminScope, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }):
		return fmt.Errorf("ADMIN_SCOPE: %q is not a scope: write ASCII words without quotes, separated by spaces", c.AdminScope)
	}
	everybodys := append(strings.Fields(c.IdentityScope), openScopes...)
	if !slices.ContainsFunc(scopes, func(scope string) bool { return !slices.Contains(everybodys, scope) }) {
		return fmt.Errorf("ADMIN_SCOPE: %q is granted to people who are not admins: name a scope other than openid, profile and the like, and other than IDENTITY_SCOPE", c.AdminScope)
	}
	return nil
}

// minReplicaLag is longer than the time between two checks of the replica's position.
const minReplicaLag = 500 * time.Millisecond

func (c *Config) checkDatabase() error {
	switch {
	case strings.HasPrefix(c.DatabaseURL, "sqlite://"):
		if c.DatabaseURL == "sqlite://" {
			return fmt.Errorf("DATABASE_URL: sqlite:// needs a path, for example sqlite://data/pulsecast.db")
		}
	case hasScheme(c.DatabaseURL, "postgres", "postgresql"):
	default:
		return fmt.Errorf("DATABASE_URL: must start with sqlite:// or postgres://")
	}
	if _, embedded := c.SQLitePath(); embedded && c.DatabasePartitions == "monthly" {
		return fmt.Errorf("DATABASE_PARTITIONS: monthly needs Postgres in DATABASE_URL; SQLite has no partitions")
	}
	if c.DatabaseReplicaURL == "" {
		return nil
	}
	if _, embedded := c.SQLitePath(); embedded {
		return fmt.Errorf("DATABASE_REPLICA_URL: needs Postgres in DATABASE_URL; SQLite has no replicas")
	}
	if !hasScheme(c.DatabaseReplicaURL, "postgres", "postgresql") {
		return fmt.Errorf("DATABASE_REPLICA_URL: must start with postgres://")
	}
	if c.ReplicaMaxLag < minReplicaLag || c.ReplicaMaxLag > time.Hour {
		return fmt.Errorf("REPLICA_MAX_LAG: must be between %s and 1h, got %s", minReplicaLag, c.ReplicaMaxLag)
	}
	return nil
}

func (c *Config) checkNumbers() error {
	durations := []struct {
		name  string
		value time.Duration
	}{{"MARKETS_INTERVAL", c.MarketsInterval}, {"NEWS_INTERVAL", c.NewsInterval}}
	for _, d := range durations {
		if d.value < time.Second || d.value > 24*time.Hour {
			return fmt.Errorf("%s: must be between 1s and 24h, got %s", d.name, d.value)
		}
	}
	if c.Drain < 0 || c.Drain > 10*time.Minute {
		return fmt.Errorf("DRAIN: must be between 0s and 10m, got %s", c.Drain)
	}
	counts := []struct {
		name  string
		value int
	}{
		{"RANKED_MIN_EVENTS", c.RankedMinEvents},
		{"RANKED_MIN_CATEGORY_EVENTS", c.RankedMinCategoryEvents},
		{"RANKED_MIN_DAYS", c.RankedMinDays},
		{"STREAMS_PER_ADDRESS", c.StreamsPerAddress},
	}
	for _, n := range counts {
		if n.value < 1 {
			return fmt.Errorf("%s: must be at least 1, got %d", n.name, n.value)
		}
	}
	if c.StreamsMax < 0 {
		return fmt.Errorf("STREAMS_MAX: must be at least 0, got %d", c.StreamsMax)
	}
	if c.RankedMinLiquidity < 0 {
		return fmt.Errorf("RANKED_MIN_LIQUIDITY: must be at least 0, got %d", c.RankedMinLiquidity)
	}
	if err := c.checkBackups(); err != nil {
		return err
	}
	if c.MetricsAddr != "" {
		if _, _, err := net.SplitHostPort(c.MetricsAddr); err != nil {
			return fmt.Errorf("METRICS_ADDR: %q is not host:port", c.MetricsAddr)
		}
	}
	return nil
}

// defaultBackupKeep is the default of BACKUP_KEEP.
const defaultBackupKeep = 7

func (c *Config) checkBackups() error {
	switch {
	case c.BackupEvery != 0 && (c.BackupEvery < time.Minute || c.BackupEvery > 31*24*time.Hour):
		return fmt.Errorf("BACKUP_EVERY: must be between 1m and 744h, or 0s for none, got %s", c.BackupEvery)
	case c.BackupEvery != 0 && c.BackupDir == "":
		return fmt.Errorf("BACKUP_DIR: needed with BACKUP_EVERY")
	case c.BackupKeep < 1:
		return fmt.Errorf("BACKUP_KEEP: must be at least 1, got %d", c.BackupKeep)
	case c.BackupEvery == 0 && c.BackupDir != "":
		return fmt.Errorf("BACKUP_EVERY: needed with BACKUP_DIR, such as 24h; without it, no backup is made")
	case c.BackupEvery == 0 && c.BackupKeep != defaultBackupKeep:
		return fmt.Errorf("BACKUP_EVERY: needed with BACKUP_KEEP, such as 24h; without it, no backup is made")
	}
	return nil
}

// SQLitePath returns the path of the SQLite file. ok is false on Postgres.
func (c *Config) SQLitePath() (path string, ok bool) {
	return strings.CutPrefix(c.DatabaseURL, "sqlite://")
}

// Proxies returns the ranges of TRUSTED_PROXIES.
func (c *Config) Proxies() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for part := range strings.SplitSeq(c.TrustedProxies, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			addr, addrErr := netip.ParseAddr(part)
			if addrErr != nil {
				return nil, fmt.Errorf("TRUSTED_PROXIES: %q is neither an address nor a CIDR range", part)
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		out = append(out, prefix)
	}
	return out, nil
}

// Loopback reports whether ADDR can be reached only from this machine.
func (c *Config) Loopback() bool {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// dialable returns addr with a wildcard host replaced by one that can be dialled.
func dialable(host, addr string) string {
	if ip, err := netip.ParseAddr(host); host == "" || (err == nil && ip.IsUnspecified()) {
		_, port, _ := net.SplitHostPort(addr)
		return "localhost:" + port
	}
	return addr
}

// checkBase checks an address that may be empty.
func checkBase(name, value string) error {
	if value == "" {
		return nil
	}
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("%s: %q is not an http(s) address", name, value)
	}
	return nil
}

func hasScheme(value string, schemes ...string) bool {
	for _, s := range schemes {
		if strings.HasPrefix(value, s+"://") {
			return true
		}
	}
	return false
}

// Default returns the configuration of an empty environment.
func Default() Config {
	var c Config
	blind := kong.PostBuild(func(k *kong.Kong) error {
		for _, flag := range k.Model.Flags {
			flag.Tag.Envs = nil
		}
		return nil
	})
	if err := kong.ApplyDefaults(&c, blind); err != nil {
		panic(err) // a default in the tags above is malformed: a test would have seen it
	}
	return c
}
