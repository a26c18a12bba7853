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

// What a bot finds in its environment. The first two are those that every client reads.
const (
	envBaseURL = "PULSECAST_BASE_URL"
	envAPIKey  = "PULSECAST_API_KEY"
	envMarket  = "PULSECAST_MARKET_ID"
	envAt      = "PULSECAST_AT"
	// envCost is the path of a file that the bot may write what it cost to, in US dollars.
	envCost = "PULSECAST_COST_FILE"
)

// Backtest walks a plan: it starts a bot for each pair.
type Backtest struct {
	Server string // address of the replay
	Token  string // of the replay, if it takes one
	Dir    string // keeps the state, so that Resume can go on
	// Command is the bot and its arguments. It gets an address and a key that are good for its
	// pair's moment only.
	Command  []string
	Parallel int
	Timeout  time.Duration // of one bot
	MaxCost  float64       // in US dollars; 0: no limit
	// Done, if not nil, is called after each pair.
	Done func()

	mu    sync.Mutex
	state State
}

// State is how far a backtest has come. It is kept in a file that only its user can read: it has
// the operator token.
type State struct {
	Run           string  `json:"run"`
	OperatorToken string  `json:"operatorToken"`
	ReportURL     string  `json:"reportUrl"` // below the server
	Pairs         []Pair  `json:"pairs"`
	Finished      []bool  `json:"finished"`
	Cost          float64 `json:"cost"`
}

// Left is how many pairs are not finished.
func (s *State) Left() (n int) {
	for _, done := range s.Finished {
		if !done {
			n++
		}
	}
	return n
}

// Declared is what is declared of an agent before a run.
type Declared struct {
	Name        string     `json:"name"`
	Model       string     `json:"model,omitempty"`
	ModelCutoff *time.Time `json:"modelCutoff,omitempty"`
	OpenWeb     OpenWeb    `json:"openWeb,omitempty"`
	Filter      Filter     `json:"filter"`
}

// Plan asks the replay for the pairs of a plan.
func (b *Backtest) Plan(ctx context.Context, o PlanOptions) ([]Pair, error) {
	var answer planned
	err := b.call(ctx, http.MethodPost, root+"/plan", b.Token, o, &answer)
	return answer.Pairs, err
}

// Begin makes the run of a plan.
func (b *Backtest) Begin(ctx context.Context, d Declared, pairs []Pair) error {
	if len(pairs) == 0 {
		return errors.New("the plan has no pair: no market of the archive fits its rules")
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
	err := b.call(ctx, http.MethodPost, root, b.Token, struct {
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

// Resume takes up a run that was begun before.
func (b *Backtest) Resume(run string) error {
	content, err := os.ReadFile(b.stateFile(run))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no backtest %q in %s", run, b.Dir)
	}
	if err == nil {
		err = json.Unmarshal(content, &b.state)
	}
	if err == nil && len(b.state.Finished) != len(b.state.Pairs) {
		err = errors.New("it is damaged")
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
		return fmt.Errorf("keep the state of the backtest: %w", err)
	}
	if err := writeFile(b.stateFile(b.state.Run), content); err != nil {
		return fmt.Errorf("keep the state of the backtest: %w", err)
	}
	return nil
}

// State returns how far it has come.
func (b *Backtest) State() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.state
	s.Finished = slices.Clone(s.Finished)
	return s
}

// ErrCost ends a backtest whose bots have cost as much as they may.
var ErrCost = errors.New("the bots have cost as much as --max-cost allows; --resume with a higher limit goes on")

// Run starts the bot for each pair that isn't finished. One that fails is tried again by the next
// Run; its output is in the folder of the run. failed counts those.
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

// spent reports whether the bots have cost what they may, with pairs left. Those that run then are not
// stopped: what they cost is spent already, and one that is killed may have published.
func (b *Backtest) spent() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.MaxCost > 0 && b.state.Cost >= b.MaxCost && b.state.Left() > 0
}

// errBot: the bot failed, not what runs it.
var errBot = errors.New("the bot failed")

// pair starts the bot for a pair and notes that it is finished.
func (b *Backtest) pair(ctx context.Context, i int) (err error) {
	p := b.state.Pairs[i]
	var key struct {
		AgentKey string `json:"agentKey"`
		BaseURL  string `json:"baseUrl"`
	}
	body := map[string]string{"at": writeMoment(p.At)}
	if err := b.call(ctx, http.MethodPost, root+"/"+b.state.Run+"/keys", b.state.OperatorToken, body, &key); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(b.folder(b.state.Run), fmt.Sprintf("%04d.log", i)))
	if err != nil {
		return fmt.Errorf("keep the output of the bot: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	costFile := filepath.Join(b.folder(b.state.Run), fmt.Sprintf("%04d.cost", i))
	bot, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	cmd := exec.CommandContext(bot, b.Command[0], b.Command[1:]...)
	cmd.Env = append(os.Environ(),
		envBaseURL+"="+key.BaseURL, envAPIKey+"="+key.AgentKey, envMarket+"="+p.Market, envAt+"="+writeMoment(p.At), envCost+"="+costFile)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = log, log, time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
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

// addCost adds what the bot says it cost.
func (b *Backtest) addCost(path string) error {
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist) && b.MaxCost > 0:
		return fmt.Errorf("the bot didn't write what it cost to the file in %s, so --max-cost can't hold", envCost)
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read what the bot cost: %w", err)
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

// Report asks for the report, and keeps it in the folder of the run as JSON and as a page that needs no
// server.
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
			content = alone(content)
		}
		path := filepath.Join(b.folder(b.state.Run), "report."+format)
		if err := writeFile(path, content); err != nil {
			return nil, nil, fmt.Errorf("keep the report: %w", err)
		}
		paths = append(paths, path)
	}
	return &out, paths, nil
}

// call sends JSON to the replay and decodes its answer.
func (b *Backtest) call(ctx context.Context, method, path, token string, body, into any) error {
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	content, err := b.fetch(ctx, method, path, token, sent)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%s %s: the answer is not one of a replay: %w", method, b.Server+path, err)
	}
	return nil
}

// maxAnswer bounds an answer of the replay.
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
		_ = json.Unmarshal(content, &refusal) // without it the status has to do
		for _, f := range refusal.Errors {
			refusal.Detail += " " + f.Field + " " + f.Message + "."
		}
		return nil, fmt.Errorf("the replay refused %s %s: %d %s", method, path, answer.StatusCode, refusal.Detail)
	}
	return content, nil
}
