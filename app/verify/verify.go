package verify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gowebpki/jcs"

	"github.com/pulsecast/pulsecast/app/score"
)

// Report is the result of a verification.
type Report struct {
	Predictions, Scored, Events, Boards, Rows int
	// Hashes counts the predictions that were withheld at first and whose hash was checked.
	Hashes int
	// Differences describe each published value that differs from the recomputed one, one per line.
	Differences []string
	// Unconfirmed counts the values that differ in the second of two readings, but not in the same way in the first; see Run.
	Unconfirmed int
	// Moved lists the boards that were rebuilt while they were read. They are not compared.
	Moved []string
}

func (r *Report) differ(format string, args ...any) {
	r.Differences = append(r.Differences, fmt.Sprintf(format, args...))
}

// keepRepeated removes the differences that an earlier reading didn't show.
func (r *Report) keepRepeated(earlier []string) {
	shown := make(map[string]bool, len(earlier))
	for _, d := range earlier {
		shown[d] = true
	}
	all := len(r.Differences)
	r.Differences = slices.DeleteFunc(r.Differences, func(d string) bool { return !shown[d] })
	r.Unconfirmed = all - len(r.Differences)
}

// betweenReadings is the time between two readings. A board shows a settlement after a few seconds. On a large
// installation it takes longer, but so does a reading.
const betweenReadings = 5 * time.Second

// Run verifies the installation at baseURL. It returns differences in the report. It fails if the
// API can't be read.
//
// A prediction that settles during a reading may count in one answer and not in another. So if values differ, Run reads
// everything once more, and reports the differences that are the same in both readings. The numbers of an agent whose
// predictions settle in both readings differ in other ways each time.
func Run(ctx context.Context, baseURL string, httpClient *http.Client) (*Report, error) {
	api := &client{base: baseURL, http: httpClient}
	first, err := read(ctx, api)
	if err != nil || len(first.Differences) == 0 {
		return first, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(betweenReadings):
	}
	second, err := read(ctx, api)
	if err != nil {
		return nil, err
	}
	second.keepRepeated(first.Differences)
	return second, nil
}

// read reads the predictions and the boards once, and compares them.
func read(ctx context.Context, api *client) (*Report, error) {
	var all []record
	if err := api.predictions(ctx, func(r record) { all = append(all, r) }); err != nil {
		return nil, err
	}
	// UUIDv7 ids are ordered by the time of publication.
	slices.SortFunc(all, func(a, b record) int { return strings.Compare(a.ID, b.ID) })
	report := &Report{Predictions: len(all)}
	events := newLedger(report)
	for i := range all {
		if err := events.add(ctx, api, &all[i]); err != nil {
			return nil, err
		}
	}
	if err := events.compareOutcomes(ctx, api); err != nil {
		return nil, err
	}
	report.Events = len(events.clusters)
	return report, events.compareBoards(ctx, api)
}

// clusterKey identifies an agent's predictions on one event.
type clusterKey struct{ agent, event string }

// cluster holds the sums over an agent's predictions on one event.
type cluster struct {
	score.Cluster
	category, day string
	settledDay    string // the published day of an event without a scheduled close
	disagrees     bool   // a settled prediction is far enough from its baseline to count for a rank
	next, settled int
	// unsure means that an earlier prediction isn't revealed, so it is unknown whether that
	// prediction has a weight.
	unsure bool
}

// ledger adds up predictions in the order of publication.
type ledger struct {
	report   *Report
	clusters map[clusterKey]*cluster
	said     map[[2]string][]statement       // by agent and market: the last on each outcome, in the order of publication
	outcomes map[string][]string             // the outcomes of the markets that were asked for
	authors  map[string]*author              // by agent
	happened map[string]map[string]happening // by market and outcome
	open     []*record                       // on a market, long enough published to be settled with others
	priors   map[string]prior                // by day
}

// author is what the predictions show of an agent.
type author struct {
	handle string
	days   map[string]bool // the UTC days with a publication on a market
	active *bool           // whether its profile says so; nil if not asked yet
}

// statement is an agent's confidence in an outcome of a market.
type statement struct {
	outcome    string
	index      int // the place of the outcome when the statement was published
	confidence float64
}

func newLedger(r *Report) *ledger {
	return &ledger{
		report: r, clusters: map[clusterKey]*cluster{}, said: map[[2]string][]statement{}, outcomes: map[string][]string{},
		authors: map[string]*author{}, happened: map[string]map[string]happening{}, priors: map[string]prior{},
	}
}

func (l *ledger) add(ctx context.Context, api *client, r *record) error {
	l.publish(r)
	if r.Confidence == nil {
		l.requireHash(r)
		if r.Market != nil {
			l.cluster(r).unsure = true
		}
		return nil
	}
	l.checkHash(r)
	l.checkBrier(r)
	if r.Market == nil {
		return nil
	}
	l.noteOutcome(r)
	previous, err := l.previous(ctx, api, r)
	if err != nil || r.Baseline == nil {
		return err
	}
	if b := r.Baseline.Previous; (b == nil) != (previous == nil) || b != nil && *b != *previous {
		l.report.differ("prediction %s: previous is %v, but the agent's last confidence was %v", r.ID, show(b), show(previous))
	}
	if q, ok := r.Baseline.bounds().Clamp(*r.Confidence); !ok || !near(q, r.Baseline.Probability) {
		l.report.differ("prediction %s: baseline is %v, but its bounds give %v", r.ID, r.Baseline.Probability, q)
	}
	c := l.cluster(r)
	if c.unsure {
		c.trust(r)
	}
	index := c.next
	c.next++
	if r.Weight == nil || *r.Weight != score.Weight(index) {
		l.report.differ("prediction %s: weight is %v, want %v", r.ID, show(r.Weight), score.Weight(index))
	}
	if r.Status == "resolved" {
		l.settle(c, r, index)
	}
	return nil
}

// publish notes the day of a publication. It is known even while the prediction is withheld.
func (l *ledger) publish(r *record) {
	a := l.authors[r.Agent.ID]
	if a == nil {
		a = &author{days: map[string]bool{}}
		l.authors[r.Agent.ID] = a
	}
	a.handle = r.Agent.Handle
	if r.Market != nil {
		a.days[r.CreatedAt.UTC().Format(time.DateOnly)] = true
	}
}

// previous returns the agent's last confidence before r on the market, as one in r's outcome, and remembers r. It is
// nil if the agent said nothing about that outcome. In a market with two outcomes, an outcome that the market no longer
// has was renamed, so it is the outcome that now stands at its place.
func (l *ledger) previous(ctx context.Context, api *client, r *record) (*float64, error) {
	key := [2]string{r.Agent.ID, r.Market.ID}
	said := l.said[key]
	isSame := func(s statement) bool { return s.outcome == r.Market.Outcome }
	others := slices.DeleteFunc(slices.Clone(said), isSame)
	l.said[key] = append(others, statement{r.Market.Outcome, r.Market.OutcomeIndex, *r.Confidence})
	if len(said) == 0 {
		return nil, nil
	}
	if last := said[len(said)-1]; !isSame(last) {
		names, err := l.outcomesOf(ctx, api, r.Market.ID)
		if err != nil {
			return nil, err
		}
		if len(names) == 2 {
			if last.index == r.Market.OutcomeIndex && !slices.Contains(names, last.outcome) {
				return &last.confidence, nil
			}
			other := score.Complement(last.confidence)
			return &other, nil
		}
	}
	if i := slices.IndexFunc(said, isSame); i >= 0 {
		return &said[i].confidence, nil
	}
	return nil, nil
}

func (l *ledger) cluster(r *record) *cluster {
	event := "m:" + r.Market.ID
	if r.Market.Event != nil {
		event = "e:" + *r.Market.Event
	}
	key := clusterKey{r.Agent.ID, event}
	c := l.clusters[key]
	if c == nil {
		c = &cluster{}
		c.countAs(r)
		l.clusters[key] = c
	}
	return c
}

// countAs sets the category and day of an event from r, the agent's first prediction on it.
func (c *cluster) countAs(r *record) {
	c.category, c.day = score.OtherCategory, ""
	if r.Market.Category != nil {
		c.category = *r.Market.Category
	}
	if at := r.Market.ScheduledCloseAt; at != nil {
		c.day = at.UTC().Format(time.DateOnly)
	}
}

// trust takes the weight index of a prediction from its published weight.
func (c *cluster) trust(r *record) {
	if r.Weight == nil || *r.Weight <= 0 {
		return
	}
	if c.next = int(math.Round(-math.Log2(*r.Weight))); c.next == 0 {
		c.countAs(r)
	}
}

func (l *ledger) settle(c *cluster, r *record, index int) {
	if r.Resolution == nil || r.Resolution.Value == nil || r.Scores == nil || r.Scores.Edge == nil || r.Scores.LogEdge == nil {
		l.report.differ("prediction %s is resolved with a baseline, but has no score", r.ID)
		return
	}
	p, q, y := *r.Confidence, r.Baseline.Probability, *r.Resolution.Value
	if want := score.Edge(p, q, y).Float(); *r.Scores.Edge != want {
		l.report.differ("prediction %s: edge is %v, want %v", r.ID, *r.Scores.Edge, want)
	}
	if want := score.LogEdge(p, q, y); math.Abs(*r.Scores.LogEdge-want) > 1e-6 {
		l.report.differ("prediction %s: log edge is %v, want %v", r.ID, *r.Scores.LogEdge, want)
	}
	l.report.Scored++
	c.settled++
	c.Cluster = c.Plus(score.Bet(p, q, y, index))
	c.disagrees = c.disagrees || score.Disagrees(p, q)
	if c.unsure {
		c.day = r.Scores.Day // a withheld prediction may have fixed it
	}
	if c.settledDay == "" {
		c.settledDay = r.Scores.Day
	}
	if day := c.countsOn(); r.Scores.Day != day {
		l.report.differ("prediction %s: day is %s, but its event counts on %s", r.ID, r.Scores.Day, day)
	}
}

// countsOn returns the day that an event with a settled prediction counts on.
func (c *cluster) countsOn() string { return cmp.Or(c.day, c.settledDay) }

func (l *ledger) checkBrier(r *record) {
	if r.Scores == nil || r.Resolution == nil || r.Resolution.Value == nil {
		return
	}
	if want := score.Brier(*r.Confidence, *r.Resolution.Value); !near(want, r.Scores.Brier) {
		l.report.differ("prediction %s: brier is %v, want %v", r.ID, r.Scores.Brier, want)
	}
}

// checkHash compares the hash of a prediction that was withheld with the recomputed hash. If the
// salt is published, all hashed fields are. A revealed prediction must have both: without them, its author or the
// service could have changed it before the reveal. The salt is missing only if some of the hashed fields are hidden.
func (l *ledger) checkHash(r *record) {
	if l.requireHash(r); r.Hash == nil {
		return
	}
	switch {
	case r.Salt != nil:
	case r.Hidden || r.Agent.Hidden:
		return
	default:
		l.report.differ("prediction %s: it is revealed, but its salt is missing, so its hash can't be checked", r.ID)
		return
	}
	hash, err := r.hash(*r.Salt)
	if err != nil {
		l.report.differ("prediction %s: its hash can't be recomputed: %v", r.ID, err)
		return
	}
	if l.report.Hashes++; hash != *r.Hash {
		l.report.differ("prediction %s: hash is %s, but the published fields give %s", r.ID, *r.Hash, hash)
	}
}

// requireHash reports a prediction that is or was withheld and has no hash.
func (l *ledger) requireHash(r *record) {
	if r.Hash == nil && (r.Confidence == nil || r.Salt != nil || r.Reveal != "" && r.Reveal != "now") {
		l.report.differ("prediction %s: it was withheld at first, but its hash is missing", r.ID)
	}
}

// hash returns the SHA-256 of the salt and the canonical JSON of the published fields, in hex.
func (r *record) hash(salt string) (string, error) {
	outcome := ""
	if r.Market != nil {
		outcome = r.Market.Outcome
	}
	said, err := json.Marshal(map[string]any{
		"title": r.Title, "thesis": r.Thesis, "confidence": r.Confidence, "horizonAt": r.HorizonAt, "category": r.Category,
		"model": r.Model, "evidence": r.evidence(), "outcome": outcome,
	})
	if err == nil {
		said, err = jcs.Transform(said)
	}
	sum := sha256.Sum256(append([]byte(salt), said...))
	return hex.EncodeToString(sum[:]), err
}

func (r *record) evidence() []map[string]json.RawMessage {
	list := make([]map[string]json.RawMessage, len(r.Evidence))
	for i, e := range r.Evidence {
		list[i] = map[string]json.RawMessage{"title": e.Title, "url": e.URL}
	}
	return list
}

// bounds returns the views that bound the baseline.
func (b *baseline) bounds() score.Bounds {
	return score.Bounds{
		Before: view(b.Before, b.BeforeBid, b.BeforeAsk), After: view(b.After, b.AfterBid, b.AfterAsk),
		Hour: view(nil, b.MedianBid, b.MedianAsk), Previous: b.Previous,
	}
}

func view(price, bid, ask *float64) *score.View {
	switch {
	case bid != nil && ask != nil:
		v := score.BookView(bid, ask)
		return &v
	case price != nil:
		v := score.PriceView(*price)
		return &v
	}
	return nil
}

// near allows for differences of the last digits between machines.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

func show(x *float64) any {
	if x == nil {
		return "null"
	}
	return *x
}
