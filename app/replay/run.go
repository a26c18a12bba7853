package replay

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/problem"
)

// OpenWeb says whether an agent could search the live web during a run, as its operator declares.
type OpenWeb string

// The values of OpenWeb. A web search finds outcomes even if it is filtered by date.
const (
	WebOpen    OpenWeb = "yes"
	WebClosed  OpenWeb = "no"
	WebUnknown OpenWeb = "unknown"
)

// Run is one pass of an agent through an archive. It is stored in a file that contains no secrets.
type Run struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`  // name of the agent
	Model       string     `json:"model"` // as declared
	Filter      Filter     `json:"filter"`
	From        time.Time  `json:"from"`
	To          time.Time  `json:"to"`
	ModelCutoff *time.Time `json:"modelCutoff"` // the model may know what happened before; nil if not declared
	OpenWeb     OpenWeb    `json:"openWeb"`
	// Bound runs have no key for all moments. Each of their keys is for one T, and every request
	// needs a key.
	Bound bool `json:"bound"`
	// Pairs are the markets to forecast at given moments. They are the assignments of the world at
	// that moment.
	Pairs     []Pair    `json:"pairs"`
	CreatedAt time.Time `json:"createdAt"`

	Agent    uuid.UUID `json:"agent"`
	Keys     []runKey  `json:"keys"`
	Operator []byte    `json:"operator"` // SHA-256 of the operator token
}

// Pair is a market and the moment at which to forecast it.
type Pair struct {
	Market string    `json:"market"`
	At     time.Time `json:"at"`
}

// runKey is a key of a run's agent.
type runKey struct {
	ID   string     `json:"id"`
	Hash []byte     `json:"hash"`
	At   *time.Time `json:"at"` // the only moment it is valid for; nil for all
}

// keysAt returns the keys that are valid in the world at a moment.
func (r *Run) keysAt(at time.Time) (keys []*agent.Key) {
	for _, k := range r.Keys {
		if k.At == nil || k.At.Equal(at) {
			keys = append(keys, &agent.Key{ID: k.ID, AgentID: r.Agent, Label: "replay", Hash: k.Hash, CreatedAt: at})
		}
	}
	return keys
}

// admit refuses a bearer that can't be valid in the run's world at a moment. Session tokens, and
// keys that a world may have issued, are checked by the world. In a bound run they are refused,
// because pages don't check credentials and would open for any token.
func (r *Run) admit(bearer string, at time.Time) error {
	switch {
	case bearer == "" && r.Bound:
		return problem.MissingCredentials("In this run every request needs Authorization: Bearer with a key for this moment; POST /r/" + r.ID + "/keys makes one.")
	case bearer == "", !agent.IsKey(bearer) && !r.Bound:
		return nil
	}
	hash := agent.Hash(bearer)
	i := slices.IndexFunc(r.Keys, func(k runKey) bool { return subtle.ConstantTimeCompare(k.Hash, hash[:]) == 1 })
	switch {
	case i < 0 && r.Bound:
		return problem.InvalidCredentials("This is not a key of the run. The run's operator makes one with POST /r/" + r.ID + "/keys.")
	case i < 0:
		return nil // a world may have issued it
	case r.Keys[i].At != nil && !r.Keys[i].At.Equal(at):
		return problem.InvalidCredentials("This key is for " + writeMoment(*r.Keys[i].At) + " only, but the address asks for " + writeMoment(at) + ".")
	}
	return nil
}

// operates reports whether a token is the run's operator token.
func (r *Run) operates(token string) bool {
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(sum[:], r.Operator) == 1
}

// seed returns the seed for the ids of a world's predictions.
func (r *Run) seed(at time.Time) []byte { return []byte(r.ID + " " + writeMoment(at)) }

// writeMoment formats a T as in addresses.
func writeMoment(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }

// readMoment parses a T.
func readMoment(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || !strings.HasSuffix(text, "Z") {
		return at, problem.InvalidParameter("T", fmt.Sprintf("must be an RFC 3339 time in UTC, such as 2026-11-21T12:00:00Z; got %.40q", text))
	}
	if at = at.UTC(); !at.Truncate(time.Microsecond).Equal(at) {
		return at, problem.InvalidParameter("T", "may have at most six digits of a second")
	}
	return at, nil
}

// Runs stores runs, each in a folder below dir. Its methods are safe for concurrent use.
type Runs struct {
	dir string

	mu     sync.Mutex
	loaded map[string]*Run // a *Run in the map never changes
}

// maxRuns is the maximum number of runs, which are all in memory.
const maxRuns = 10_000

const runFile = "run.json"

// OpenRuns reads the runs in a folder.
func OpenRuns(dir string) (*Runs, error) {
	r := &Runs{dir: dir, loaded: map[string]*Run{}}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the runs: %w", err)
	}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name(), runFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue // making the run was interrupted
		}
		var run Run
		if err == nil {
			err = json.Unmarshal(content, &run)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, e.Name(), runFile), err)
		}
		r.loaded[run.ID] = &run
	}
	return r, nil
}

// Find returns a run, or a not_found error.
func (r *Runs) Find(id string) (*Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if run := r.loaded[id]; run != nil {
		return run, nil
	}
	return nil, problem.NotFound(fmt.Sprintf("There is no run %.40q. POST /r makes one.", id))
}

// Made is a new run with its secrets, which are shown only once.
type Made struct {
	Run           *Run
	AgentKey      string // "" for a bound run
	OperatorToken string
}

// Make stores a new run.
func (r *Runs) Make(run Run) (made Made, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.loaded) >= maxRuns {
		return made, problem.New(problem.CodeInvalidRequest, fmt.Sprintf("There are %d runs already. Remove some of their folders and restart.", maxRuns))
	}
	run.ID, run.Agent, run.CreatedAt = newRunID(), uuid.New(), time.Now().UTC()
	token := make([]byte, 24)
	rand.Read(token) // documented never to fail
	made.OperatorToken = "po_" + base64.RawURLEncoding.EncodeToString(token)
	sum := sha256.Sum256([]byte(made.OperatorToken))
	run.Operator = sum[:]
	if !run.Bound {
		secret, key := agent.NewKey(run.Agent, "replay", run.CreatedAt)
		made.AgentKey, run.Keys = secret, []runKey{{ID: key.ID, Hash: key.Hash}}
	}
	made.Run = &run
	return made, r.save(&run)
}

// newRunID returns a random id, so that a run can't be found by guessing.
func newRunID() string {
	var id [8]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// AddKey makes a key for the agent of a run that is valid at one moment.
func (r *Runs) AddKey(id string, at time.Time) (secret string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.loaded[id]
	if old == nil {
		return "", problem.NotFound("There is no such run.")
	}
	run := *old
	secret, key := agent.NewKey(run.Agent, "replay", at)
	run.Keys = append(slices.Clone(old.Keys), runKey{key.ID, key.Hash, &at})
	return secret, r.save(&run)
}

func (r *Runs) save(run *Run) error {
	content, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		return fmt.Errorf("store a run: %w", err)
	}
	dir := r.folder(run.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("store a run: %w", err)
	}
	if err := writeFile(filepath.Join(dir, runFile), content); err != nil {
		return fmt.Errorf("store a run: %w", err)
	}
	r.loaded[run.ID] = run
	return nil
}

// writeFile replaces a file atomically.
func writeFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".part-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func (r *Runs) folder(id string) string { return filepath.Join(r.dir, id) }

// SameDays counts the runs of agents of the same name whose time overlaps with run's, including
// run. With many attempts, a good result by chance becomes likely.
func (r *Runs) SameDays(run *Run) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for other := range maps.Values(r.loaded) {
		if strings.EqualFold(other.Name, run.Name) && other.From.Before(run.To) && run.From.Before(other.To) {
			n++
		}
	}
	return n
}
