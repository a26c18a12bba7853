package reddit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/fetch"
	"github.com/pulsecast/pulsecast/app/source/lenientjson"
)

// OAuthConfig configures an OAuth. The addresses are bases without a path.
type OAuthConfig struct {
	AuthURL, APIURL        string
	ClientID, ClientSecret string
	UserAgent              string // see the function UserAgent
	Over18                 bool   // keep posts marked as over_18
	Fetch                  *fetch.Client
	Logger                 *slog.Logger
	Now                    func() time.Time
}

// OAuth is a source.NewsSource that reads each community's hot posts through the API. It is safe for concurrent
// use.
type OAuth struct {
	shared
	api    string
	over18 bool
	tokens *tokens

	mu           sync.Mutex
	blockedUntil time.Time
}

var _ source.NewsSource = (*OAuth)(nil)

// NewOAuth returns a client. A nil Fetch, Logger or Now has a default.
func NewOAuth(cfg OAuthConfig) *OAuth {
	s := shared{fetch: cfg.Fetch, log: cfg.Logger, now: cfg.Now, agent: cfg.UserAgent}
	s.fillDefaults()
	return &OAuth{
		shared: s, over18: cfg.Over18, api: strings.TrimRight(cfg.APIURL, "/"),
		tokens: newTokens(s, strings.TrimRight(cfg.AuthURL, "/")+"/api/v1/access_token", cfg.ClientID, cfg.ClientSecret),
	}
}

// Interval is half a minute: a read costs six of the hundred requests a minute.
func (c *OAuth) Interval() time.Duration { return 30 * time.Second }

// Read reads the communities one after another. If some fail, it returns the items of the others, and the errors in
// Partial. It returns an error only if there are no items. When Reddit's allowance is used up, the read stops.
// Until it is renewed, Read makes no requests and returns "http_429" with RetryAfter.
func (c *OAuth) Read(ctx context.Context) (source.News, error) {
	if wait := c.blocked(); wait > 0 {
		return source.News{}, exhausted(wait)
	}
	ctx, cancel := context.WithTimeout(source.As(ctx, NameOAuth), readDeadline)
	defer cancel()
	// Without a token every community would fail, so there is no need to try.
	if _, err := c.tokens.get(ctx, ""); err != nil {
		return source.News{}, fmt.Errorf("reddit: token: %w", err)
	}
	out := source.News{Source: NameOAuth, Dropped: source.Dropped{}}
	var errs []error
	silent := 0
	for _, community := range news.Communities {
		items, at, err := c.community(ctx, community, out.Dropped)
		if err == nil {
			out.Items = append(out.Items, items...)
			if at.After(out.ObservedAt) {
				out.ObservedAt = at
			}
			silent = 0
		} else {
			if noAnswer(err) {
				silent++
			}
			errs = append(errs, err)
			c.log.Warn("reddit: community not read", "community", community, "error", err)
		}
		if c.blocked() > 0 || silent == maxSilent || hopeless(ctx, err) {
			break
		}
	}
	if len(out.Items) == 0 {
		return source.News{}, c.nothing(errs)
	}
	out.Items, out.Partial = source.Arrange(out.Items), errors.Join(errs...)
	return out, nil
}

// nothing returns the error of a read without items.
func (c *OAuth) nothing(errs []error) error {
	if len(errs) > 0 {
		return fmt.Errorf("reddit: %w", errs[0])
	}
	if wait := c.blocked(); wait > 0 {
		return exhausted(wait)
	}
	return &source.Error{Reason: "empty", Err: errors.New("reddit: no posts in any community")}
}

// maxSilent is how many communities in a row may give no response before the read ends. Each of them costs a
// full timeout, and the host is probably down.
const maxSilent = 2

func noAnswer(err error) bool {
	switch source.Reason(err) {
	case "timeout", "refused", "unreachable":
		return true
	}
	return false
}

// hopeless reports whether every other community would fail in the same way.
func hopeless(ctx context.Context, err error) bool {
	return ctx.Err() != nil || (err != nil && source.Reason(err) == "unauthorized")
}

func exhausted(wait time.Duration) error {
	return &source.Error{Reason: "http_429", RetryAfter: wait, Err: errors.New("reddit: the allowance is used up")}
}

func (c *OAuth) community(ctx context.Context, name string, dropped source.Dropped) ([]news.Item, time.Time, error) {
	resp, err := c.ask(ctx, "/r/"+name+"/hot?limit=100&raw_json=1")
	if err != nil {
		if source.Reason(err) == "http_429" {
			c.block(max(source.RetryAfter(err), c.Interval()))
		}
		return nil, time.Time{}, err
	}
	c.heed(resp.Header)
	at := c.stamp(resp)
	items, left, err := decodeListing(ctx, resp.Body, c.over18, at)
	if err != nil {
		source.Reject(ctx, "parse", resp.Raw, 0)
		return nil, time.Time{}, &source.Error{Reason: "parse", Err: err}
	}
	dropped.Add(left)
	receivedIn(items, resp)
	return items, at, nil
}

// heed reads the allowance: x-ratelimit-remaining is a decimal number, and x-ratelimit-reset whole seconds.
func (c *OAuth) heed(h http.Header) {
	remaining, ok := lenientjson.ParseNumber(h.Get("X-Ratelimit-Remaining"))
	if !ok || remaining >= 1 {
		return
	}
	reset, ok := lenientjson.ParseNumber(h.Get("X-Ratelimit-Reset"))
	if !ok || reset <= 0 {
		reset = c.Interval().Seconds()
	}
	c.block(time.Duration(math.Ceil(min(reset, 3600))) * time.Second)
}

func (c *OAuth) block(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blockedUntil = c.now().Add(d)
}

func (c *OAuth) blocked() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(c.blockedUntil.Sub(c.now()), 0)
}
