package api

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/tmaxmax/go-sse"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/update"
)

// eventStream is the media type of server-sent events (WHATWG HTML, section 9.2).
const eventStream = "text/event-stream"

// UpdateEncoder encodes updates as the events of a stream.
func (a *API) UpdateEncoder() update.Encoder {
	var heartbeat sse.Message
	heartbeat.AppendComment("heartbeat")
	return update.Encoder{
		Update: func(u *update.Update) []byte {
			body, err := answer.JSON(a.update(u))
			if err != nil {
				panic(err) // strings and finite numbers can always be encoded
			}
			m := sse.Message{ID: sse.ID(strconv.FormatInt(u.Seq, 10)), Type: sse.Type(string(u.Type))}
			m.AppendData(string(body))
			return framed(&m)
		},
		Heartbeat: framed(&heartbeat),
		// Without data it is no event, but clients store the id (WHATWG HTML, section 9.2.6). The comment stands first, for
		// clients that skip whatever begins with one.
		Position: func(seq int64) []byte { return fmt.Appendf(nil, ": heartbeat\nid: %d\n\n", seq) },
	}
}

func framed(m *sse.Message) []byte {
	text, err := m.MarshalText()
	if err != nil {
		panic(err) // writing to memory doesn't fail
	}
	return text
}

// streamUpdates sends updates as they happen.
func (a *API) streamUpdates(s *httpserver.Server) fiber.Handler {
	return func(c *fiber.Ctx) error {
		filter, err := a.parseStream(c)
		if err != nil {
			return err
		}
		after, err := lastEventID(c)
		if err != nil {
			return err
		}
		return s.Stream(c, eventStream, func(stream *httpserver.Stream) {
			if err := a.Hub.Join(context.Background(), resumable{stream}, filter, after); err != nil {
				a.Log.Warn("a stream ended early; its reader connects again", "error", err)
			}
		})
	}
}

// resumable is a stream as the sink of a Hub. Older updates cost as much as a list.
type resumable struct{ *httpserver.Stream }

// Admit waits until one more portion of older updates may be made.
func (r resumable) Admit() (leave func(), ok bool) { return r.Stream.Admit(httpserver.Listing) }

func (a *API) parseStream(c *fiber.Ctx) (f update.Filter, err error) {
	args := c.Context().QueryArgs()
	if p := caller(c); p != nil && p.Allows(agent.ScopeRead) {
		f.Viewer = p.Agent.ID
	}
	if f.Types, err = parseTypes(args); err != nil {
		return f, err
	}
	var handle string
	for _, p := range []struct {
		name string
		to   *string
	}{{"market", &f.MarketID}, {"agent", &handle}} {
		if *p.to, err = filter(args, p.name, maxParameter); err != nil {
			return f, err
		}
	}
	if handle, err = a.handleOf(c, handle); err != nil {
		return f, err
	}
	if f.Category, err = category(args); err != nil || f.MarketID == "" && handle == "" {
		return f, err
	}
	admission, err := a.admit(c, httpserver.Lookup)
	if err != nil {
		return f, err
	}
	defer admission.Leave()
	if f.MarketID != "" {
		_, found, err := a.markets.ByID(c.UserContext(), a.DB.Reader, f.MarketID)
		if err != nil {
			return f, err
		}
		if !found {
			return f, errNoMarket()
		}
	}
	if handle != "" {
		found, err := a.agents.ByHandle(c.UserContext(), a.DB.Reader, handle)
		if err != nil {
			return f, err
		}
		f.AgentID = found.ID
	}
	return f, nil
}

// parseTypes reads the parameter types, a comma-separated list. It returns nil for all types.
func parseTypes(args *fasthttp.Args) ([]update.Type, error) {
	list, err := filter(args, "types", maxParameter)
	if err != nil || list == "" {
		return nil, err
	}
	var types []update.Type
	for name := range strings.SplitSeq(list, ",") {
		t := update.Type(strings.TrimSpace(name))
		if !slices.Contains(update.Types, t) {
			known := make([]string, len(update.Types))
			for i, k := range update.Types {
				known[i] = string(k)
			}
			return nil, problem.InvalidParameter("types", "must be a comma-separated list of "+strings.Join(known, ", "))
		}
		types = append(types, t)
	}
	return types, nil
}

// lastEventID returns the position after which the stream continues, or nil to begin now.
func lastEventID(c *fiber.Ctx) (*int64, error) {
	value := c.Get("Last-Event-ID")
	if value == "" {
		return nil, nil
	}
	number, err := strconv.ParseInt(value, 10, 64)
	if err != nil || number < 0 {
		return nil, problem.InvalidParameter("Last-Event-ID", "must be an id of this stream; leave the header out to begin now")
	}
	return &number, nil
}
