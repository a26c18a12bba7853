package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/replay"
)

// replayed holds the flags that the commands replay and backtest share, because a backtest starts a
// replay too.
type replayed struct {
	Archive string `env:"ARCHIVE_URL" default:"file://data/archive" placeholder:"DIR|URL" help:"Recorded days: a folder, file://, s3://, or the address of an installation that publishes its own."`
	Dir     string `default:"data/replay" type:"path" help:"Folder for the runs and their publications."`
}

// listen makes a replay and its listener. The replay isn't running yet.
func (r *replayed) listen(ctx context.Context, cfg config.Config, token string) (s *replay.Server, ln net.Listener, err error) {
	storage, done, err := replay.OpenArchive(ctx, r.Archive, filepath.Join(r.Dir, "archive"))
	if err != nil {
		return nil, nil, err
	}
	if ln, err = net.Listen("tcp", cfg.Addr); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("ADDR: cannot listen on %s: %w", cfg.Addr, errors.Unwrap(err)), done())
	}
	if cfg.BaseURL == "" {
		cfg.Addr = ln.Addr().String() // the system has chosen a port for 0
	}
	s, err = replay.New(ctx, replay.Options{Settings: cfg, Archive: storage, Dir: r.Dir, Token: token, Log: os.Stderr, Done: done})
	if err != nil {
		return nil, nil, errors.Join(err, ln.Close(), done())
	}
	return s, ln, nil
}

type replayCommand struct {
	replayed
	Addr      string `env:"ADDR" default:"127.0.0.1:8090" help:"Address to listen on, host:port."`
	BaseURL   string `env:"BASE_URL" name:"base-url" help:"Public address, used in every link. Default: made from ADDR."`
	Token     string `env:"REPLAY_TOKEN" help:"Secret for creating a run; unset: everyone who reaches the address can create a run, and see how the markets ended."`
	LogFormat string `env:"LOG_FORMAT" name:"log-format" default:"text" enum:"text,json,off" help:"Format of the log on standard error."`
}

// Run serves replays until ctx ends.
func (r *replayCommand) Run(ctx context.Context) error {
	cfg := config.Default()
	cfg.Addr, cfg.BaseURL, cfg.LogFormat = r.Addr, r.BaseURL, r.LogFormat
	s, ln, err := r.listen(ctx, cfg, r.Token)
	if err != nil {
		return err
	}
	fmt.Printf("Pulsecast replays %s at %s/r\n", r.Archive, s.Base())
	return s.Run(ctx, ln)
}

type backtestCommand struct {
	replayed
	Server string `placeholder:"URL" help:"Address of a running replay, instead of --archive."`
	Token  string `env:"REPLAY_TOKEN" help:"Secret of the running replay, if it has one."`

	Plan   int    `placeholder:"N" help:"Draw a plan of N pairs of a market and a moment. Without a bot, the plan is printed for --run."`
	Seed   uint64 `default:"1" help:"Seed of the draw. The same seed and archive give the same plan."`
	RunOf  string `name:"run" placeholder:"PLAN" type:"path" help:"Walk the plan in this file."`
	Resume string `placeholder:"RUN" help:"Continue a run. Finished pairs are skipped."`

	Category string `help:"Draw only markets of this category."`
	Tag      string `help:"Draw only markets with this tag."`
	Q        string `help:"Draw only markets with these words."`

	Name        string `default:"backtest" help:"Name of the agent. The report counts the runs of this name over the same days."`
	Model       string `help:"Language model of the agent, as you declare it."`
	ModelCutoff string `name:"model-cutoff" placeholder:"DATE" help:"End of the model's knowledge, such as 2026-06-30. The report separates events that were decided before it."`
	OpenWeb     string `name:"open-web" default:"unknown" enum:"yes,no,unknown" help:"Whether the bot can search the live web, which knows how the markets ended."`

	Parallel int           `default:"1" help:"How many bots run at a time."`
	MaxCost  float64       `name:"max-cost" placeholder:"DOLLARS" help:"Start no further bot once the bots have cost this much. Running bots may finish. Each bot writes its cost to the file named by PULSECAST_COST_FILE."`
	Timeout  time.Duration `default:"10m" help:"Longest time of one bot."`

	Command []string `arg:"" optional:"" passthrough:"" help:"The bot's command, after --. It runs once for each pair, with PULSECAST_BASE_URL, PULSECAST_API_KEY, PULSECAST_MARKET_ID and PULSECAST_AT."`
}

// Run walks a plan and prints the report.
func (b *backtestCommand) Run(ctx context.Context) (err error) {
	if len(b.Command) > 0 && b.Command[0] == "--" {
		b.Command = b.Command[1:]
	}
	if err := b.check(); err != nil {
		return err
	}
	t := &replay.Backtest{
		Server: strings.TrimRight(b.Server, "/"), Token: b.Token, Dir: filepath.Join(b.Dir, "backtests"), Command: b.Command,
		Parallel: b.Parallel, Timeout: b.Timeout, MaxCost: b.MaxCost,
	}
	if b.Server == "" {
		stop, err := b.serveInside(ctx, t)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	if len(b.Command) == 0 {
		return b.printPlan(ctx, t)
	}
	if err := b.begin(ctx, t); err != nil {
		return err
	}
	return b.walk(ctx, t)
}

func (b *backtestCommand) check() error {
	ways := 0
	for _, given := range []bool{b.Plan != 0, b.RunOf != "", b.Resume != ""} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return errors.New("give exactly one of --plan N, --run PLAN and --resume RUN")
	case b.Plan < 0:
		return errors.New("--plan: must be at least 1")
	case b.Parallel < 1 || b.Parallel > 64:
		return errors.New("--parallel: must be from 1 to 64")
	case b.Timeout < time.Second:
		return errors.New("--timeout: must be at least 1s")
	case b.MaxCost < 0:
		return errors.New("--max-cost: must not be negative")
	case b.Plan == 0 && len(b.Command) == 0:
		return errors.New("give the bot after --, for example: pulsecast backtest --run plan.json -- python3 bot.py")
	}
	return nil
}

// serveInside starts a replay on a free port of this machine. Its token is random, so that a bot can't
// create a run and see the outcomes.
func (b *backtestCommand) serveInside(ctx context.Context, t *replay.Backtest) (stop func() error, err error) {
	cfg := config.Default()
	cfg.Addr, cfg.LogFormat, cfg.Drain = "127.0.0.1:0", "off", 0
	t.Token = rand.Text()
	s, ln, err := b.listen(ctx, cfg, t.Token)
	if err != nil {
		return nil, err
	}
	t.Server = s.Base()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, ln) }()
	return func() error { cancel(); return <-done }, nil
}

// planFile is the printed form of a plan.
type planFile struct {
	Seed  uint64        `json:"seed"`
	Pairs []replay.Pair `json:"pairs"`
}

func (b *backtestCommand) printPlan(ctx context.Context, t *replay.Backtest) error {
	pairs, err := b.draw(ctx, t)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(planFile{b.Seed, pairs})
}

func (b *backtestCommand) draw(ctx context.Context, t *replay.Backtest) ([]replay.Pair, error) {
	pairs, err := t.Plan(ctx, replay.PlanOptions{N: b.Plan, Seed: b.Seed, Filter: b.filter()})
	if err == nil && len(pairs) < b.Plan {
		fmt.Fprintf(os.Stderr, "pulsecast: only %d pairs of the archive fit the rules of a plan\n", len(pairs))
	}
	return pairs, err
}

func (b *backtestCommand) filter() replay.Filter {
	return replay.Filter{Category: b.Category, Tag: b.Tag, Q: b.Q}
}

// begin creates a run of the plan, or continues the run to resume.
func (b *backtestCommand) begin(ctx context.Context, t *replay.Backtest) error {
	if b.Resume != "" {
		return t.Resume(b.Resume)
	}
	declared := replay.Declared{Name: b.Name, Model: b.Model, OpenWeb: replay.OpenWeb(b.OpenWeb)}
	if b.ModelCutoff != "" {
		day, err := time.Parse(time.DateOnly, b.ModelCutoff)
		if err != nil {
			return fmt.Errorf("--model-cutoff: %q is not a date such as 2026-06-30", b.ModelCutoff)
		}
		end := day.AddDate(0, 0, 1).Add(-time.Microsecond)
		declared.ModelCutoff = &end
	}
	pairs, err := b.pairs(ctx, t)
	if err != nil {
		return err
	}
	return t.Begin(ctx, declared, pairs)
}

func (b *backtestCommand) pairs(ctx context.Context, t *replay.Backtest) ([]replay.Pair, error) {
	if b.Plan != 0 {
		return b.draw(ctx, t)
	}
	content, err := os.ReadFile(b.RunOf)
	if err != nil {
		return nil, fmt.Errorf("--run: %w", err)
	}
	pairs, err := readPlan(content)
	if err != nil {
		return nil, fmt.Errorf("--run: %s is not a plan: %w", b.RunOf, err)
	}
	return pairs, nil
}

// readPlan reads the pairs of a printed plan. It refuses a plan without pairs, and a pair without its
// market or moment.
func readPlan(content []byte) ([]replay.Pair, error) {
	var plan planFile
	if err := json.Unmarshal(content, &plan); err != nil {
		return nil, err
	}
	if len(plan.Pairs) == 0 {
		return nil, errors.New("it has no pairs; make a plan with: pulsecast backtest --plan 100 > plan.json")
	}
	for i, p := range plan.Pairs {
		if p.Market == "" || p.At.IsZero() {
			return nil, fmt.Errorf("pair %d lacks market or at", i+1)
		}
	}
	return plan.Pairs, nil
}

// walk runs the bots and prints the report, even if some bots failed.
func (b *backtestCommand) walk(ctx context.Context, t *replay.Backtest) error {
	state := t.State()
	fmt.Fprintf(os.Stderr, "run %s: %d pairs, %d to go\n", state.Run, len(state.Pairs), state.Left())
	bar := progress("Forecasting", int64(state.Left()))
	t.Done = func() { _ = bar.Add(1) }
	failed, err := t.Run(ctx)
	_ = bar.Finish()
	if err != nil && !errors.Is(err, replay.ErrCost) {
		return fmt.Errorf("%w\nContinue with: pulsecast backtest --resume %s", err, state.Run)
	}
	report, paths, reportErr := t.Report(context.WithoutCancel(ctx))
	if reportErr != nil {
		return errors.Join(err, reportErr)
	}
	if err := printBacktest(os.Stdout, report, paths, t.State().Cost); err != nil {
		return err
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("the bot failed on %d pairs; its output is beside the report. Try these pairs again with: pulsecast backtest --resume %s", failed, state.Run)
	}
	return err
}

func printBacktest(w io.Writer, r *replay.Report, paths []string, cost float64) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "run\t%s\n", r.Run.ID)
	n := &r.Predictions
	fmt.Fprintf(out, "predictions\t%d on %d of %d pairs: %d resolved, %d open and %d void\n", n.Total, n.PairsPublished, n.Pairs, n.Resolved, n.Open, n.Void)
	row := func(name string, s *replay.Score) {
		switch {
		case s == nil:
		case s.Events == 0:
			fmt.Fprintf(out, "%s\tno settled event\n", name)
		default:
			events, guess := "events", "unknown"
			if s.Events == 1 {
				events = "event"
			}
			if s.BestGuess != nil {
				guess = fmt.Sprintf("%s, 95 %% range %s to %s", shownNumber(s.BestGuess, 1), shownNumber(s.RangeLow, 1), shownNumber(s.RangeHigh, 1))
			}
			fmt.Fprintf(out, "%s\t%d %s: mean edge %s; best guess of the true edge %s; odds %s; Brier %s (market %s)\n", name, s.Events, events,
				shownNumber(s.Edge, 1), guess, shownNumber(s.Odds, 1), shownNumber(s.Brier, 3), shownNumber(s.MarketBrier, 3))
		}
	}
	row("all", &r.Overall)
	row("before the cut-off", r.Before)
	row("after the cut-off", r.After)
	if cost > 0 {
		fmt.Fprintf(out, "cost\t%.2f US dollars\n", cost)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(out, "note\t%s\n", w)
	}
	for _, p := range paths {
		fmt.Fprintf(out, "report\t%s\n", p)
	}
	return out.Flush()
}

// shownNumber formats a number that may be unknown.
func shownNumber(v *float64, decimals int) string {
	if v == nil {
		return "unknown"
	}
	text := fmt.Sprintf("%.*f", decimals, *v)
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-") // no minus before a zero
	}
	return text
}
