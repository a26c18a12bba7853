package api

import (
	"errors"
	"strconv"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/inbox"
	"github.com/pulsecast/pulsecast/app/problem"
)

type updatesWire struct {
	OK          bool         `json:"ok"`
	Events      []updateWire `json:"events"`
	Now         nowWire      `json:"now"`
	Cursor      string       `json:"cursor"`
	HasMore     bool         `json:"hasMore"`
	NextCheckAt *string      `json:"nextCheckAt"`
}

type nowWire struct {
	Rank        *int64       `json:"rank"`
	Reason      *string      `json:"reason"`
	Progress    progressWire `json:"progress"`
	Assignments int          `json:"assignments"`
}

// listUpdates answers with the updates for the calling agent.
func (a *API) listUpdates(c *fiber.Ctx) error {
	args := c.Context().QueryArgs()
	limit, err := ParseLimit(args)
	if err != nil {
		return err
	}
	since, err := parseSince(args)
	if err != nil {
		return err
	}
	page, err := a.inbox.Read(c.UserContext(), a.DB.Reader, callerID(c), since, limit)
	if expired, ok := errors.AsType[*inbox.ExpiredError](err); ok {
		return cursorExpired(expired.Fresh)
	}
	if err != nil {
		return err
	}
	return respondOwn(c, a.updates(page))
}

func (a *API) updates(p *inbox.Page) updatesWire {
	st := p.Now.Stats
	w := updatesWire{
		OK: true, Events: make([]updateWire, len(p.Updates)), Cursor: writeSince(p.Cursor), HasMore: p.More,
		NextCheckAt: timeOrNull(p.NextCheckAt),
		Now:         nowWire{Rank: st.Row.Rank, Reason: textOrNull(st.Row.Reason), Progress: progress(st), Assignments: p.Now.Assignments},
	}
	for i := range p.Updates {
		w.Events[i] = a.update(&p.Updates[i])
	}
	return w
}

// sinceMark begins a cursor of the updates, to tell it from the cursors of lists.
const sinceMark = "updates"

func writeSince(number int64) string { return cursor.Encode(sinceMark, strconv.FormatInt(number, 10)) }

// parseSince returns the parameter since, or nil if it is left out.
func parseSince(args *fasthttp.Args) (*int64, error) {
	value, found, err := single(args, "since")
	if err != nil || !found {
		return nil, err
	}
	parts, err := cursor.Decode(string(value), 2)
	if err == nil && parts[0] == sinceMark {
		if number, err := strconv.ParseInt(parts[1], 10, 64); err == nil && number >= 0 {
			return &number, nil
		}
	}
	return nil, problem.InvalidParameter("since", "must be a cursor that this operation returned, unchanged; leave it out to begin now")
}

// cursorExpired returns the refusal of a cursor, with a cursor to continue with.
func cursorExpired(fresh int64) error {
	p := problem.New(problem.CodeCursorExpired, "Updates after this cursor are gone: either they are older than 30 days, or the service was restored from a backup. "+
		"Read your predictions again (GET /api/predictions?agent=<handle>), and continue with the cursor of this answer.")
	p.Cursor = writeSince(fresh)
	return p
}
