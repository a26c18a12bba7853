package metaculus

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/problem"
)

const (
	defaultLimit, maxLimit = 20, 100
	// assignmentsTournament is the tournament of the open assignments. The other tournaments are
	// the categories.
	assignmentsTournament = "assignments"
	binaryType            = "binary"
	maxValues             = 50 // maximum number of values of a parameter
)

// postsQuery is the query for a list of posts.
type postsQuery struct {
	market.QuestionFilter
	statuses    []string
	assignments bool  // the tournaments include the assignments
	forecaster  int64 // 0 if not sent
	none        bool  // nothing can match, such as numeric questions
}

// parsePosts reads the parameters that the client sends. It ignores others, as Metaculus does.
func parsePosts(c *fiber.Ctx) (q postsQuery, err error) {
	args, err := url.ParseQuery(string(c.Context().URI().QueryString()))
	if err != nil {
		return q, problem.InvalidParameter("query", "must be a well-formed query string")
	}
	if q.Limit, err = whole(args, "limit", defaultLimit, 1, maxLimit); err != nil {
		return q, err
	}
	if q.Offset, err = whole(args, "offset", 0, 0, math.MaxInt32); err != nil {
		return q, err
	}
	if err := q.readStatuses(args["statuses"]); err != nil {
		return q, err
	}
	if err := q.readTournaments(args["tournaments"]); err != nil {
		return q, err
	}
	if types := args["forecast_type"]; len(types) > 0 && !slices.Contains(types, binaryType) {
		q.none = true
	}
	if sent := args.Get("forecaster_id"); sent != "" {
		if q.forecaster, err = strconv.ParseInt(sent, 10, 64); err != nil || q.forecaster <= 0 {
			return q, problem.InvalidParameter("forecaster_id", "must be your id from GET "+Base+"/users/me")
		}
	}
	q.readOrder(args.Get("order_by"))
	return q, q.readTimes(args)
}

func whole(args url.Values, name string, otherwise, least, most int) (int, error) {
	sent := args.Get(name)
	if sent == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(sent)
	if err != nil || n < least || n > most {
		return 0, problem.InvalidParameter(name, fmt.Sprintf("must be a whole number from %d to %d", least, most))
	}
	return n, nil
}

// readStatuses reads the states of questions. By default the list has open questions. No question
// is ever upcoming here.
func (q *postsQuery) readStatuses(statuses []string) error {
	if q.statuses = statuses; len(statuses) == 0 {
		q.Open, q.statuses = true, []string{statusOpen}
	}
	for _, s := range statuses {
		switch s {
		case statusOpen:
			q.Open = true
		case statusClosed, statusResolved:
			q.Closed = true
		case "upcoming", "pending":
		default:
			return problem.InvalidParameter("statuses", "must be open, closed, resolved or upcoming")
		}
	}
	return nil
}

func (q *postsQuery) readTournaments(names []string) error {
	if len(names) > maxValues {
		return problem.InvalidParameter("tournaments", fmt.Sprintf("may be sent at most %d times", maxValues))
	}
	for _, name := range names {
		switch name = strings.ToLower(name); {
		case name == assignmentsTournament:
			q.assignments = true
		case slices.Contains(market.Categories, name):
			q.Categories = append(q.Categories, name)
		default:
			return problem.InvalidParameter("tournaments", fmt.Sprintf("has no %.60q: send %s, a category (%s), or leave it out for all questions",
				name, assignmentsTournament, strings.Join(market.Categories, ", ")))
		}
	}
	return nil
}

// readOrder reads the order. Orders by interest, such as -hotness, become an order by volume.
func (q *postsQuery) readOrder(order string) {
	name, falling := strings.CutPrefix(order, "-")
	switch name {
	case "", "published_at", "published_time", "open_time", "created_at", "edited_at":
		q.Sort, q.Reversed = market.ByNewest, name != "" && !falling
	case "scheduled_close_time", "scheduled_resolve_time", "actual_close_time", "actual_resolve_time":
		q.Sort, q.Reversed = market.ByClosing, falling
	default:
		q.Sort, q.Reversed = market.ByVolume, !falling
	}
}

func (q *postsQuery) readTimes(args url.Values) error {
	for _, p := range []struct {
		name string
		to   *time.Time
		last bool // if two parameters set the same bound, the second one is used
	}{
		{"published_at__gt", &q.SeenAfter, false}, {"published_at__lt", &q.SeenBefore, false},
		{"open_time__gt", &q.SeenAfter, true}, {"open_time__lt", &q.SeenBefore, true},
		{"scheduled_close_time__gt", &q.ClosesAfter, false}, {"scheduled_close_time__lt", &q.ClosesBefore, false},
		{"scheduled_resolve_time__gt", &q.ClosesAfter, true}, {"scheduled_resolve_time__lt", &q.ClosesBefore, true},
	} {
		sent := args.Get(p.name)
		if sent == "" {
			continue
		}
		at, err := time.Parse(time.DateOnly, sent)
		if err != nil {
			at, err = time.Parse(time.RFC3339, sent)
		}
		if err != nil || at.Year() < 1 || at.Year() > 9999 {
			return problem.InvalidParameter(p.name, "must be a date such as 2027-01-31, or an RFC 3339 time")
		}
		*p.to = at.UTC()
	}
	return nil
}
