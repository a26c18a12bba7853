package api

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

const (
	// exportMost is how many predictions one export holds at most. Predictions published while the export
	// is written are not counted.
	exportMost = 10_000
	// exportPage is how many predictions are in memory at a time.
	exportPage = 100
	// exportsAtOnce is how many exports a node writes at a time. An agent has at most one of them, so a slow
	// reader delays only its own next export. The agents of one address or owner have at most
	// httpserver.KeysShare · exportsOfCaller. exportReads is how many exports read a page, or wait in the lane for it,
	// at a time.
	exportsAtOnce   = 32
	exportsOfCaller = 4
	exportReads     = 2
	// exportTimeout is below the server's timeout for writing an answer.
	exportTimeout = 25 * time.Second
)

// exportFormat writes the records of an export.
type exportFormat interface {
	begin(me agentWire, keys []keyWire) error
	prediction(p predictionWire) error
	end(next *string) error
}

// export streams the caller's data, newest first. JSON Lines contain its profile, keys and predictions, and
// CSV only its predictions. Every page is paid for before the first byte, and takes a place in the lane while
// it is read.
func (a *API) export(c *fiber.Ctx) error {
	args := c.Context().QueryArgs()
	format, err := choice(args, "format", "jsonl", "csv")
	if err != nil {
		return err
	}
	me := caller(c)
	filter := prediction.Filter{AgentID: me.Agent.ID, Limit: exportPage}
	if filter.Cursor, err = text(args, "cursor", maxParameter); err != nil {
		return err
	}
	store := a.store.For(agent.Viewer{AgentID: me.Agent.ID})
	last, next, err := store.CursorPast(c.UserContext(), a.DB.Reader, filter.AgentID, filter.Cursor, exportMost)
	if err != nil {
		return err
	}
	count := exportMost
	if next == "" {
		if count, err = store.CountUpTo(c.UserContext(), a.DB.Reader, filter.AgentID, filter.Cursor, exportMost); err != nil {
			return err
		}
	}
	keys, err := a.exportedKeys(c)
	if err != nil {
		return err
	}
	leave, err := a.exportPlaces.Enter(c)
	if err != nil {
		return noExport()
	}
	if err := a.exports.begin(me.Agent.ID, leave); err != nil {
		leave()
		return err
	}
	admit, err := a.admitParts(c, httpserver.Listing, max((count+exportPage-1)/exportPage, 1))
	if err != nil {
		a.exports.end(me.Agent.ID)
		return err
	}
	mime, name := "application/jsonl", "pulsecast-"+me.Agent.Handle+".jsonl"
	if format == "csv" {
		mime, name = "text/csv; charset=utf-8; header=present", "pulsecast-"+me.Agent.Handle+".csv"
	}
	c.Set(fiber.HeaderContentType, mime)
	c.Set(fiber.HeaderContentDisposition, `attachment; filename="`+name+`"`)
	c.Set(fiber.HeaderCacheControl, "private, no-store")
	if next != "" {
		c.Set(fiber.HeaderLink, fmt.Sprintf(`<%s/api/agents/me/export?format=%s&cursor=%s>; rel="next"`, a.Config.BaseURL, format, next))
	}
	profile := a.agent(me.Agent)
	a.stream(c, filter.AgentID, func(ctx context.Context, w io.Writer) error {
		var out exportFormat = &jsonLines{json.NewEncoder(w)}
		if format == "csv" {
			out = &commaSeparated{csv.NewWriter(w)}
		}
		return a.writeExport(ctx, out, store, filter, last, profile, keys, textOrNull(next), admit)
	})
	return nil
}

// stream answers with the output of write, and then ends the agent's export. If write fails, the connection
// closes before the end of the answer, so that the reader sees that the answer is incomplete.
func (a *API) stream(c *fiber.Ctx, agentID uuid.UUID, write func(ctx context.Context, w io.Writer) error) {
	reader, writer := io.Pipe()
	go func() {
		// The request's own context ends when its handler returns.
		ctx, cancel := context.WithTimeout(context.Background(), exportTimeout)
		defer cancel()
		w := bufio.NewWriter(writer)
		err := write(ctx, w)
		if err == nil {
			err = w.Flush()
		}
		if err != nil && !errors.Is(err, io.ErrClosedPipe) { // a closed pipe means that the reader has left
			a.Log.Warn("an export was cut short", "agent_id", agentID, "error", err)
		}
		a.exports.end(agentID) // first, because a reader may ask again as soon as it has read the end
		writer.CloseWithError(err)
	}()
	c.Context().SetBodyStream(reader, -1)
}

// exports are the exports that are being written.
type exports struct {
	mu      sync.Mutex
	agents  map[uuid.UUID]func() // what else to do at the end of an agent's export
	reading chan struct{}        // one entry for each export that reads a page
}

func newExports() *exports {
	return &exports{agents: map[uuid.UUID]func(){}, reading: make(chan struct{}, exportReads)}
}

// begin begins an export of an agent, or returns a 503. If err is nil, the caller must call end, which calls leave.
func (e *exports) begin(agentID uuid.UUID, leave func()) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, running := e.agents[agentID]; running || len(e.agents) >= exportsAtOnce {
		return noExport()
	}
	e.agents[agentID] = leave
	return nil
}

func (e *exports) end(agentID uuid.UUID) {
	e.mu.Lock()
	leave := e.agents[agentID]
	delete(e.agents, agentID)
	e.mu.Unlock()
	if leave != nil {
		leave()
	}
}

// noExport returns the refusal of an export that can't begin now.
func noExport() error {
	return problem.Busy("An export of this agent, or too many exports of other agents, are being written. Try again.", 5*time.Second)
}

// admission waits for a place in the lane. If err is nil, the caller must call leave.
type admission func(ctx context.Context) (leave func(), err error)

// read waits until a page may be read, and then runs f.
func (e *exports) read(ctx context.Context, admit admission, f func() error) error {
	select {
	case e.reading <- struct{}{}:
		defer func() { <-e.reading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	leave, err := admit(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return f()
}

// exportedKeys returns the caller's keys. It returns none if this service doesn't issue keys or if the
// caller uses a session.
func (a *API) exportedKeys(c *fiber.Ctx) ([]keyWire, error) {
	me := caller(c)
	if me.Session || a.Config.IdentityURL != "" {
		return nil, nil
	}
	keys, err := a.Identity.Keys(c.UserContext(), me)
	return toKeyWires(keys), err
}

// writeExport writes an export up to the prediction last, after which the next export begins. If last is
// uuid.Nil, it writes all predictions. The export isn't bounded by a count: predictions published meanwhile
// would move its end, and some would be missing between this export and the next.
func (a *API) writeExport(
	ctx context.Context, out exportFormat, store prediction.Store, filter prediction.Filter, last uuid.UUID,
	me agentWire, keys []keyWire, next *string, admit admission,
) error {
	if err := out.begin(me, keys); err != nil {
		return err
	}
	for {
		var records []prediction.Record
		after := ""
		err := a.exports.read(ctx, admit, func() (err error) {
			records, after, err = store.List(ctx, a.DB.Reader, filter)
			return err
		})
		if err != nil {
			return err
		}
		for i := range records {
			if err := out.prediction(a.prediction(&records[i])); err != nil {
				return err
			}
			if records[i].ID == last {
				return out.end(next)
			}
		}
		if filter.Cursor = after; after == "" {
			return out.end(next)
		}
	}
}

// jsonLines writes one object a line, each with a type. The line "end" confirms that the export is
// complete.
type jsonLines struct{ *json.Encoder }

func (j *jsonLines) begin(me agentWire, keys []keyWire) error {
	err := j.Encode(struct {
		Type  string    `json:"type"`
		Agent agentWire `json:"agent"`
	}{"agent", me})
	for i := range keys {
		if err == nil {
			err = j.Encode(struct {
				Type string  `json:"type"`
				Key  keyWire `json:"key"`
			}{"key", keys[i]})
		}
	}
	return err
}

func (j *jsonLines) prediction(p predictionWire) error {
	return j.Encode(struct {
		Type       string         `json:"type"`
		Prediction predictionWire `json:"prediction"`
	}{"prediction", p})
}

func (j *jsonLines) end(next *string) error {
	return j.Encode(struct {
		Type       string  `json:"type"`
		NextCursor *string `json:"nextCursor"`
	}{"end", next})
}

// commaSeparated writes the predictions as CSV (RFC 4180).
type commaSeparated struct{ *csv.Writer }

var csvColumns = []string{
	"id", "createdAt", "title", "thesis", "confidence", "horizonAt", "category", "model", "marketId", "question", "outcome",
	"status", "baseline", "weight", "resolution", "resolvedAt", "brier", "edge", "logEdge", "reveal", "revealedAt", "hash", "salt", "url",
}

func (s *commaSeparated) begin(agentWire, []keyWire) error { return s.Write(csvColumns) }

// prediction writes a record with every field, as its author sees it.
func (s *commaSeparated) prediction(p predictionWire) error {
	var marketID, question, outcome, base, y, resolvedAt, brier, edge, logEdge string
	if m := p.Market; m != nil {
		marketID, question, outcome = m.ID, m.Question, textOf(m.Outcome)
	}
	if p.Baseline != nil {
		base = csvNumber(&p.Baseline.Probability)
	}
	if r := p.Resolution; r != nil {
		y, resolvedAt = csvNumber(r.Value), r.ResolvedAt.Format(time.RFC3339Nano)
	}
	if sc := p.Scores; sc != nil {
		brier, edge, logEdge = csvNumber(&sc.Brier), csvNumber(sc.Edge), csvNumber(sc.LogEdge)
	}
	return s.Write([]string{
		p.ID, p.CreatedAt.Format(time.RFC3339Nano), plaintext.CSVCell(textOf(p.Title)), plaintext.CSVCell(textOf(p.Thesis)), csvNumber(p.Confidence),
		p.HorizonAt.Format(time.RFC3339Nano), plaintext.CSVCell(textOf(p.Category)), plaintext.CSVCell(textOf(p.Model)), plaintext.CSVCell(marketID), plaintext.CSVCell(question),
		plaintext.CSVCell(outcome), string(*p.Status), base, csvNumber(p.Weight), y, resolvedAt, brier, edge, logEdge,
		string(p.Reveal), textOf(p.RevealedAt), textOf(p.Hash), textOf(p.Salt), p.URL,
	})
}

func (s *commaSeparated) end(*string) error {
	s.Flush()
	return s.Error()
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func csvNumber(n *float64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatFloat(*n, 'f', -1, 64)
}
