package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// tool is an installed client program of Postgres.
type tool struct {
	path  string
	major int
}

// ToolError means that a client program of Postgres is missing or too old.
type ToolError struct {
	Name  string
	Major int // minimum version needed
	Found int // newest version found; 0 if none
}

func (e *ToolError) Error() string {
	what := fmt.Sprintf("%s version %d or newer is needed", e.Name, e.Major)
	if e.Found > 0 {
		what += fmt.Sprintf(", but only version %d is installed", e.Found)
	}
	return what + fmt.Sprintf("; install the package postgresql-client-%d (Debian, Ubuntu) or postgresql%d-client (Alpine)", e.Major, e.Major)
}

// findTool finds a client program of Postgres. It prefers the one in PATH, if that is new enough,
// to the newest one in Debian's folders. It fails with a *ToolError if no program is as new as the
// server.
func findTool(ctx context.Context, name string, server int) (string, error) {
	var paths []string
	if path, err := exec.LookPath(name); err == nil {
		paths = append(paths, path)
	}
	others, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil {
		return "", err
	}
	var found []tool
	for _, path := range append(paths, others...) {
		if major, err := versionOf(ctx, path); err == nil {
			found = append(found, tool{path, major})
		}
	}
	if len(found) > 0 && len(paths) > 0 && found[0].path == paths[0] && found[0].major >= server {
		return found[0].path, nil
	}
	slices.SortStableFunc(found, func(a, b tool) int { return cmp.Compare(b.major, a.major) })
	if len(found) == 0 {
		return "", &ToolError{Name: name, Major: server}
	}
	if found[0].major < server {
		return "", &ToolError{Name: name, Major: server, Found: found[0].major}
	}
	return found[0].path, nil
}

var versionText = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

func versionOf(ctx context.Context, path string) (major int, err error) {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return 0, err
	}
	m := versionText.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("%s doesn't print its version", path)
	}
	return strconv.Atoi(string(m[1]))
}

// libpq are the address parameters that the client programs understand. DATABASE_URL may have
// others, which only our driver knows.
var libpq = []string{
	"host", "hostaddr", "port", "user", "dbname", "passfile", "channel_binding", "connect_timeout", "client_encoding", "options",
	"application_name", "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
	"gssencmode", "sslmode", "sslcompression", "sslcert", "sslkey", "sslrootcert", "sslcrl", "sslcrldir", "sslsni", "requirepeer",
	"ssl_min_protocol_version", "ssl_max_protocol_version", "krbsrvname", "service", "target_session_attrs",
}

// client prepares a client program that connects to an address. It passes the password in the
// environment, because other users can read a program's arguments.
func client(ctx context.Context, path, address string, args ...string) (*exec.Cmd, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("DATABASE_URL: not a valid postgres:// address")
	}
	password := ""
	if u.User != nil {
		password, _ = u.User.Password()
		u.User = url.User(u.User.Username())
	}
	options := u.Query()
	password = cmp.Or(options.Get("password"), password)
	for name := range options {
		if !slices.Contains(libpq, name) {
			options.Del(name)
		}
	}
	u.RawQuery = strings.ReplaceAll(options.Encode(), "+", "%20")
	cmd := exec.CommandContext(ctx, path, append([]string{"--dbname=" + u.String()}, args...)...)
	cmd.Env = os.Environ()
	if password != "" {
		cmd.Env = append(cmd.Env, "PGPASSWORD="+password)
	}
	return cmd, nil
}

// maxSaid is the maximum number of bytes of a program's error output in an error.
const maxSaid = 2 << 10

// withOutput adds the program's error output to its error, in one line.
func withOutput(cmd *exec.Cmd, err error, stderr string) error {
	if err == nil {
		return nil
	}
	text := strings.Join(strings.Fields(stderr), " ")
	return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, text[:min(len(text), maxSaid)])
}
