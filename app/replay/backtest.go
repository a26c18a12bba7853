package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pulsecast/pulsecast/app/version"
)

// The environment variables of a bot. Every client reads the first two.
const (
	envBaseURL = "PULSECAST_BASE_URL"
	envAPIKey  = "PULSECAST_API_KEY"
	envMarket  = "PULSECAST_MARKET_ID"
	envAt      = "PULSECAST_AT"
	// envCost is the path of a file to which the bot may write its cost in US dollars.
	envCost = "PULSECAST_COST_FILE"
)

// Backtest runs a plan. It starts a bot for each pair.
type Backtest struct {
	Server string // address of the replay
	Token  string // of the replay, "" if it takes none
	Dir    string // where the state is stored, for Resume
	// Command is the bot and its arguments. Its environment has an address and a key that are valid
	// only for the moment of its pair.
	Command  []string
	Parallel int
	Timeout  time.Duration // of one bot
	MaxCost  float64       // in US dollars; 0 for no limit
	// Done, if not nil, is called after each pair.
	Done func()

	mu    sync.Mutex
	state State
}

// State is the progress of a backtest. It is stored in a file that only its user can read, because
// it contains the operator token.
type State struct {
	Run           string  `json:"run"`
	OperatorToken string  `json:"operatorToken"`
	ReportURL     string  `json:"reportUrl"` // relative to the server
	Pairs         []Pair  `json:"pairs"`
	Finished      []bool  `json:"finished"`
	Cost          float64 `json:"cost"`
}

// Left returns how many pairs are not finished.
func (s *State) Left() (n int) {
	for _, done := range s.Finished {
		if !done {
			n++
		}
	}
	return n
}

// Declared is what an operator declares about an agent before a run.
type Declared struct {
	Name        string     `json:"name"`
	Model       string     `json:"model,omitempty"`
	ModelCutoff *time.Time `json:"modelCutoff,omitempty"`
	OpenWeb     OpenWeb    `json:"openWeb,omitempty"`
	Filter      Filter     `json:"filter"`
}

// Plan asks the replay to draw the pairs of a plan.
func (b *Backtest) Plan(ctx context.Context, o PlanOptions) ([]Pair, error) {
	var answer planned
	err := b.post(ctx, root+"/plan", b.Token, o, &answer)
	return answer.Pairs, err
}

// Begin makes a run for the pairs of a plan.
func (b *Backtest) Begin(ctx context.Context, d Declared, pairs []Pair) error {
	if len(pairs) == 0 {
		return errors.New("the plan is empty: no market in the archive meets its rules")
	}
	from, to := pairs[0].At, pairs[0].At
	for _, p := range pairs {
		if p.At.Before(from) {
			from = p.At
		}
		if p.At.After(to) {
			to = p.At
		}
	}
	var answer madeRun
	err := b.post(ctx, root, b.Token, struct {
		Declared
		From  time.Time `json:"from"`
		To    time.Time `json:"to"`
		Bound bool      `json:"bound"`
		Pairs []Pair    `json:"pairs"`
	}{d, from, to.Add(time.Microsecond), true, pairs}, &answer)
	if err != nil {
		return err
	}
	b.state = State{
		Run: answer.Run, OperatorToken: answer.OperatorToken, ReportURL: root + "/" + answer.Run + "/report", Pairs: pairs, Finished: make([]bool, len(pairs)),
	}
	return b.save()
}

// Resume loads the state of an earlier run.
func (b *Backtest) Resume(run string) error {
	content, err := os.ReadFile(b.stateFile(run))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no backtest %q in %s", run, b.Dir)
	}
	if err == nil {
		err = json.Unmarshal(content, &b.state)
	}
	if err == nil && (b.state.Run != filepath.Base(run) || len(b.state.Finished) != len(b.state.Pairs)) {
		err = errors.New("the file is damaged")
	}
	if err != nil {
		return fmt.Errorf("read the backtest %s: %w", run, err)
	}
	return nil
}

func (b *Backtest) folder(run string) string { return filepath.Join(b.Dir, filepath.Base(run)) }

func (b *Backtest) stateFile(run string) string { return filepath.Join(b.folder(run), "backtest.json") }

func (b *Backtest) save() error {
	content, err := json.MarshalIndent(&b.state, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(b.folder(b.state.Run), 0o700); err != nil {
		return fmt.Errorf("store the state of the backtest: %w", err)
	}
	if err := writeFile(b.stateFile(b.state.Run), content); err != nil {
		return fmt.Errorf("store the state of the backtest: %w", err)
	}
	return nil
}

// State returns a copy of the backtest's state.
func (b *Backtest) State() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.state
	s.Finished = slices.Clone(s.Finished)
	return s
}

// ErrCost ends a backtest whose bots have reached MaxCost.
var ErrCost = errors.New("the bots have reached --max-cost; continue with --resume and a higher limit")

// Run starts the bot for each pair that isn't finished. failed counts the bots that failed. The
// next Run starts them again. The output of each bot is in the folder of the run.
func (b *Backtest) Run(ctx context.Context) (failed int, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	places := make(chan struct{}, max(1, b.Parallel))
	var all sync.WaitGroup
	for i := range b.state.Pairs {
		if b.State().Finished[i] {
			continue
		}
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil || b.spent() {
			break
		}
		all.Go(func() {
			defer func() { <-places }()
			err := b.pair(ctx, i)
			b.mu.Lock()
			defer b.mu.Unlock()
			if errors.Is(err, errBot) {
				failed++
			} else if err != nil {
				stop(err)
			}
			if b.Done != nil {
				b.Done()
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil || !b.spent() {
		return failed, err
	}
	return failed, ErrCost
}

// spent reports whether the bots have reached MaxCost with pairs left. Running bots are not
// stopped, because their cost is spent already, and a bot that is killed may have published.
func (b *Backtest) spent() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.MaxCost > 0 && b.state.Cost >= b.MaxCost && b.state.Left() > 0
}

// errBot is the error of a bot that failed, as opposed to an error of the backtest.
var errBot = errors.New("the bot failed")

// pair runs the bot for a pair and records that the pair is finished.
func (b *Backtest) pair(ctx context.Context, i int) (err error) {
	p := b.state.Pairs[i]
	var key struct {
		AgentKey string `json:"agentKey"`
		BaseURL  string `json:"baseUrl"`
	}
	body := map[string]string{"at": writeMoment(p.At)}
	if err := b.post(ctx, root+"/"+b.state.Run+"/keys", b.state.OperatorToken, body, &key); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(b.folder(b.state.Run), fmt.Sprintf("%04d.log", i)))
	if err != nil {
		return fmt.Errorf("store the output of the bot: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	costFile := filepath.Join(b.folder(b.state.Run), fmt.Sprintf("%04d.cost", i))
	if err := os.Remove(costFile); err != nil && !errors.Is(err, os.ErrNotExist) { // of an earlier attempt
		return fmt.Errorf("remove the cost of an earlier attempt: %w", err)
	}
	bot, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	cmd := exec.CommandContext(bot, b.Command[0], b.Command[1:]...)
	cmd.Env = append(os.Environ(),
		envBaseURL+"="+key.BaseURL, envAPIKey+"="+key.AgentKey, envMarket+"="+p.Market, envAt+"="+writeMoment(p.At), envCost+"="+costFile)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = log, log, time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), b.addCost(costFile))
		}
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrPermission) {
			return fmt.Errorf("start the bot: %w", err)
		}
		fmt.Fprintf(log, "\npulsecast backtest: %v\n", err)
		return errors.Join(errBot, b.addCost(costFile))
	}
	if err := b.addCost(costFile); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Finished[i] = true
	return b.save()
}

// addCost adds the cost that the bot wrote to its file.
func (b *Backtest) addCost(path string) error {
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist) && b.MaxCost > 0:
		return fmt.Errorf("the bot didn't write its cost to the file named by %s, so --max-cost can't be enforced", envCost)
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read the cost of the bot: %w", err)
	}
	cost, err := strconv.ParseFloat(strings.TrimSpace(string(content)), 64)
	if err != nil || !(cost >= 0 && cost < 1e6) {
		return fmt.Errorf("the bot wrote %.40q as its cost; it must be a number of US dollars", content)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Cost += cost
	return b.save()
}

// Report requests the report and stores it in the folder of the run, as JSON and as a page that
// opens without a server. It returns the paths of both files.
func (b *Backtest) Report(ctx context.Context) (*Report, []string, error) {
	var paths []string
	var out Report
	for _, format := range []string{"json", "html"} {
		content, err := b.fetch(ctx, http.MethodGet, b.state.ReportURL+"?format="+format, b.state.OperatorToken, nil)
		if err != nil {
			return nil, nil, err
		}
		if format == "json" {
			if err := json.Unmarshal(content, &out); err != nil {
				return nil, nil, fmt.Errorf("read the report: %w", err)
			}
		}
		if format == "html" {
			content = embedFiles(content)
		}
		path := filepath.Join(b.folder(b.state.Run), "report."+format)
		if err := writeFile(path, content); err != nil {
			return nil, nil, fmt.Errorf("store the report: %w", err)
		}
		paths = append(paths, path)
	}
	return &out, paths, nil
}

// post sends JSON to the replay and decodes its answer.
func (b *Backtest) post(ctx context.Context, path, token string, body, into any) error {
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	content, err := b.fetch(ctx, http.MethodPost, path, token, sent)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("POST %s: the answer isn't from a replay: %w", b.Server+path, err)
	}
	return nil
}

// maxAnswer is the maximum size of an answer, in bytes.
const maxAnswer = 64 << 20

func (b *Backtest) fetch(ctx context.Context, method, path, token string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, b.Server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "pulsecast-backtest/"+version.API)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("reach the replay: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, fmt.Errorf("read the answer of the replay: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		var refusal struct {
			Detail string `json:"detail"`
			Errors []struct{ Field, Message string }
		}
		_ = json.Unmarshal(content, &refusal) // if the body isn't JSON, the error has only the status
		for _, f := range refusal.Errors {
			refusal.Detail += " " + f.Field + " " + f.Message + "."
		}
		return nil, fmt.Errorf("the replay refused %s %s: %d %s", method, path, answer.StatusCode, refusal.Detail)
	}
	return content, nil
}
