package oauth

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ory/fosite"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/plaintext"
)

// A registered client is kept for UnapprovedLifetime after its registration. From its first approval on, it is
// kept for ClientLifetime after its last approval or token.
const (
	UnapprovedLifetime = 3 * 24 * time.Hour
	ClientLifetime     = 90 * 24 * time.Hour
)

const (
	maxName         = 100
	maxRedirects    = 50
	maxAddress      = 2048
	maxClients      = 10_000
	maxClientIDSize = maxAddress
)

// Client is a program that asks to act for an agent. Its own statements are not verified, except for Host.
type Client struct {
	bun.BaseModel `bun:"table:oauth_clients,alias:c"`

	ID           string   `bun:",pk"` // the address of its metadata document, or an id made by Register
	Name         string   // 1..100 characters
	Homepage     string   // http(s), or ""
	RedirectURIs []string `bun:"redirect_uris,type:jsonb"`
	CreatedAt    time.Time
	ApprovedAt   time.Time `bun:",nullzero"` // when a person first allowed it; zero: never, or it has a document
	ExpiresAt    time.Time
}

// Host returns the host that vouches for the client, or "" if the client registered itself.
func (c *Client) Host() string {
	if !isDocument(c.ID) {
		return ""
	}
	u, _ := url.Parse(c.ID) // checkDocumentID has parsed the address before
	return u.Host
}

// allows reports whether the client may be sent back to an address. The address must be exactly one of
// those it registered. Only the port of a loopback address may differ, because programs choose a new one
// each time (RFC 8252, section 7.3).
func (c *Client) allows(redirect string) bool {
	if slices.Contains(c.RedirectURIs, redirect) {
		return true
	}
	asked, err := url.Parse(redirect)
	if err != nil || asked.Scheme != "http" || !loopback(asked.Hostname()) || asked.User != nil || asked.Fragment != "" {
		return false
	}
	return slices.ContainsFunc(c.RedirectURIs, func(named string) bool {
		u, err := url.Parse(named)
		return err == nil && u.Scheme == "http" && u.Hostname() == asked.Hostname() &&
			u.EscapedPath() == asked.EscapedPath() && u.RawQuery == asked.RawQuery
	})
}

func loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// privateScheme matches schemes that an app can register for itself. Schemes that browsers handle are
// refused.
var (
	privateScheme = regexp.MustCompile(`^[a-z][a-z0-9+.-]{1,63}$`)
	browserScheme = []string{
		"about", "blob", "chrome", "data", "file", "filesystem", "ftp", "intent", "javascript", "mailto", "vbscript",
		"view-source", "ws", "wss",
	}
)

// notASCII is the complaint about a host that isn't ASCII. The consent page shows the host, and a person could
// mistake its letters for others.
const notASCII = "has a host that isn't ASCII; write it in Punycode (xn--…)"

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

// checkRedirect returns the complaint about a redirect address, or "" if it is valid.
func checkRedirect(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme == "" || len(address) > maxAddress || plaintext.Check(address, false) != "":
		return "is not an absolute address of at most 2048 characters"
	case u.Fragment != "" || strings.Contains(address, "#"):
		return "has a fragment; leave it out"
	case u.User != nil:
		return "has a user name; leave it out"
	case !isASCII(u.Host):
		return notASCII
	case u.Scheme == "https" && u.Host != "":
		return ""
	case u.Scheme == "http" && loopback(u.Hostname()):
		return ""
	case u.Scheme == "http" || u.Scheme == "https":
		return "must be https, or http to a loopback address"
	case slices.Contains(browserScheme, u.Scheme) || !privateScheme.MatchString(u.Scheme):
		return "has a scheme that no app can register for itself"
	}
	return ""
}

// metadata is a client's description of itself (RFC 7591, section 2). Members that have no effect here are
// not read.
type metadata struct {
	ClientID     string   `json:"client_id"`
	Name         string   `json:"client_name"`
	Homepage     string   `json:"client_uri"`
	RedirectURIs []string `json:"redirect_uris"`
	Grants       []string `json:"grant_types"`
	Answers      []string `json:"response_types"`
	AuthMethod   string   `json:"token_endpoint_auth_method"`
}

// client checks a client's description of itself, and returns the client.
func (m *metadata) client(id string) (*Client, *Error) {
	if len(m.RedirectURIs) == 0 || len(m.RedirectURIs) > maxRedirects {
		return nil, refuse("invalid_redirect_uri", "redirect_uris must name 1 to %d addresses.", maxRedirects)
	}
	for _, address := range m.RedirectURIs {
		if wrong := checkRedirect(address); wrong != "" {
			return nil, refuse("invalid_redirect_uri", "The redirect URI %.100q %s.", address, wrong)
		}
	}
	if len(m.Grants) > 0 && !slices.Contains(m.Grants, "authorization_code") {
		return nil, refuse("invalid_client_metadata", "grant_types must contain authorization_code.")
	}
	if len(m.Answers) > 0 && !slices.Contains(m.Answers, "code") {
		return nil, refuse("invalid_client_metadata", "response_types must contain code.")
	}
	c := &Client{ID: id, Name: strings.TrimSpace(m.Name), RedirectURIs: m.RedirectURIs}
	if c.Name == "" {
		c.Name = hostOf(id, m.RedirectURIs[0])
	}
	if wrong := plaintext.CheckLength(c.Name, 1, maxName, false); wrong != "" {
		return nil, refuse("invalid_client_metadata", "client_name %s.", wrong)
	}
	if u, err := url.Parse(m.Homepage); err == nil && (u.Scheme == "https" || u.Scheme == "http") &&
		len(m.Homepage) <= maxAddress && plaintext.Check(m.Homepage, false) == "" {
		c.Homepage = m.Homepage
	}
	return c, nil
}

// hostOf returns a host as the name of a client without a name.
func hostOf(addresses ...string) string {
	for _, address := range addresses {
		if u, err := url.Parse(address); err == nil && u.Host != "" && len(u.Host) <= maxName {
			return u.Host
		}
	}
	return "An unnamed app"
}

// findClient finds a registered client. It returns fosite.ErrNotFound if there is none or it has expired.
func findClient(ctx context.Context, db bun.IDB, id string, now time.Time) (*Client, error) {
	if plaintext.Check(id, false) != "" { // databases fail on NUL and invalid UTF-8
		return nil, fosite.ErrNotFound
	}
	c := new(Client)
	err := db.NewSelect().Model(c).Where("id = ?", id).Where("expires_at > ?", database.Stored(now)).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fosite.ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("find client: %w", err)
	}
	return c, nil
}

// keepClient extends the life of a registered client that was approved or got a token. It changes nothing
// for a client with a metadata document.
func keepClient(ctx context.Context, db bun.IDB, id string, now time.Time) error {
	_, err := db.NewUpdate().Model((*Client)(nil)).Set("approved_at = COALESCE(approved_at, ?)", database.Stored(now)).
		Set("expires_at = ?", database.Stored(now.Add(ClientLifetime))).Where("id = ?", id).Exec(ctx)
	if err != nil {
		return fmt.Errorf("keep client: %w", err)
	}
	return nil
}

// party is a client in the library's form: public, and allowed to ask for everything.
type party struct {
	id        string
	redirects []string
	resources []string
}

type clientKey struct{}

func (s *Server) party(id string, redirects []string) party {
	return party{id: id, redirects: redirects, resources: s.resources()}
}

// GetID implements fosite.Client.
func (p party) GetID() string { return p.id }

// GetHashedSecret implements fosite.Client.
func (p party) GetHashedSecret() []byte { return nil }

// GetRedirectURIs implements fosite.Client.
func (p party) GetRedirectURIs() []string { return p.redirects }

// GetGrantTypes implements fosite.Client.
func (p party) GetGrantTypes() fosite.Arguments { return grantTypes }

// GetResponseTypes implements fosite.Client.
func (p party) GetResponseTypes() fosite.Arguments { return fosite.Arguments{"code"} }

// GetScopes implements fosite.Client.
func (p party) GetScopes() fosite.Arguments { return Scopes }

// IsPublic implements fosite.Client.
func (p party) IsPublic() bool { return true }

// GetAudience implements fosite.Client.
func (p party) GetAudience() fosite.Arguments { return p.resources }
