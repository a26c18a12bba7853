package httpserver

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/memo"
	"github.com/pulsecast/pulsecast/app/problem"
)

// Cost is the number of units that an answer takes from the reads limit if it has to be made. An answer
// from memory takes one unit. A unit is about a millisecond of a processor, so 1200 units a minute are 2 % of one
// processor.
//
// The numbers are rounded from the processor time of the node and the database together, with 15,000 to
// 1,000,000 predictions on SQLite and on Postgres: the rows "processor time" of docs/performance.md.
type Cost int

const (
	// Shared is for an answer that is the same for every request without parameters. It is made for all
	// callers together, at most a few times a second, so it costs no further unit and waits for no place.
	Shared Cost = 0
	// Lookup is for one record: about 1 ms.
	Lookup Cost = 2
	// Listing is for up to 100 records along an index: 1.4 to 7 ms.
	Listing Cost = 4
	// Page is for most HTML pages, or for everything known about one agent or market: 0.5 to 14 ms.
	Page Cost = 10
	// SubjectPage is for the page of a market or an event with a long history, or of a comparison: up to 20 ms.
	SubjectPage Cost = 20
	// AgentPage is for the page of an agent, with its review and its events: up to 30 ms.
	AgentPage Cost = 30
	// Filtered is for compressing a list of signals with a filter: up to 7 ms. It counts against the limit of answers
	// from memory; see AdmitFiltered.
	Filtered Cost = 10
	// Search is for a text search, a ranking or a comparison: 0.4 to 27 ms.
	Search Cost = 20
	// ArchivedDay is for the prices of one market in a sealed day of the archive: 5 to 12 ms.
	ArchivedDay Cost = 10
	// ListedDay is for the state of the texts of a sealed day, which is a small object of the archive.
	ListedDay Cost = 1
	// Export is for the beginning of an export. Each of its pages costs as much as a Listing.
	Export Cost = 10
	// Drawing is for a PNG picture: 11 to 13 ms.
	Drawing Cost = 30
)

// queue returns the class of the queue that an answer waits in.
func (c Cost) queue() queueClass {
	if c <= Listing {
		return quick
	}
	return expensive
}

const (
	// quickQueue and expensiveQueue are the largest numbers of waiting requests per place.
	quickQueue, expensiveQueue = 64, 16
	// quickShare and expensiveShare are the largest numbers of requests of one caller that are being answered or
	// wait. The keys of one address or owner together may have KeysShare times as many, and the addresses of one /48
	// BlockShare times as many.
	quickShare, expensiveShare, KeysShare = 16, 4, 2
)

// newReadLane makes the lane for answers that aren't in memory. If reads aren't limited, one caller may use
// all places and queues.
func newReadLane(places int, limited bool) *lane {
	queue := [queueClasses]int{quick: quickQueue * places, expensive: expensiveQueue * places}
	share := [queueClasses]int{quick: quickShare, expensive: expensiveShare}
	if !limited {
		share = [queueClasses]int{quick: queue[quick] + places, expensive: queue[expensive] + places}
	}
	l := newLane(places, queue, share)
	l.rests = limited
	return l
}

// Admit waits until the answer to a read may be made. It counts the units by which the cost exceeds those that
// Limits.Reads and earlier calls have counted for the request, and waits for a place in the lane. So a request
// pays its highest cost once, although it is admitted several times. The caller must call Leave once the answer is
// made. The refusal, 429 or 503, is for this caller only. Other callers that wait for the same answer call Admit
// too. A refused request pays one unit; Admit gives back the others.
func (s *Server) Admit(c *fiber.Ctx, cost Cost) (*Admission, error) {
	return s.admit(c, cost, s.reads)
}

// archivedPlaces is the number of places in the lane of AdmitArchived. They mostly wait for the archive.
const archivedPlaces = 4

// AdmitArchived is Admit for an answer that is made from the archive. These answers have another lane. So an archive
// that is slow or doesn't answer delays no other read.
func (s *Server) AdmitArchived(c *fiber.Ctx, cost Cost) (*Admission, error) {
	return s.admit(c, cost, s.archived)
}

func (s *Server) admit(c *fiber.Ctx, cost Cost, in *lane) (*Admission, error) {
	if cost == Shared {
		return &Admission{}, nil
	}
	if err := s.Limits.raise(c, int(cost)); err != nil {
		return nil, memo.Private(err)
	}
	r := of(c.Context())
	leave, err := in.enter(c.UserContext(), ticketOf(c, cost), r.start.Add(r.checking))
	if err != nil {
		s.Limits.lower(c)
		return nil, memo.Private(err)
	}
	return &Admission{leave, in.threads}, nil
}

// AdmitFiltered waits until a list of signals with a filter may be compressed. The request counts as Filtered requests
// for signals, of which Limits.Snapshot has counted one. Like all answers from a snapshot, it takes no units of reads. The
// caller must call leave once the list is compressed. The refusal is a 429 or 503.
func (s *Server) AdmitFiltered(c *fiber.Ctx) (leave func(), err error) {
	if err := s.Limits.takeFiltered(c); err != nil {
		return nil, err
	}
	r := of(c.Context())
	leave, err = s.reads.enter(c.UserContext(), ticketOf(c, Filtered), r.start.Add(r.checking))
	if err != nil {
		s.Limits.uncountFiltered(c)
	}
	return leave, err
}

func ticketOf(c *fiber.Ctx, cost Cost) ticket {
	return ticket{by: counted(c), sharers: placeSharers(c), class: cost.queue()}
}

// Admitted returns middleware that calls Admit for every request. It is for answers that are never kept in
// memory.
func (s *Server) Admitted(cost Cost) fiber.Handler { return s.admitted(cost, s.reads) }

// AdmittedArchived is Admitted for answers from the archive; see AdmitArchived.
func (s *Server) AdmittedArchived(cost Cost) fiber.Handler { return s.admitted(cost, s.archived) }

func (s *Server) admitted(cost Cost, in *lane) fiber.Handler {
	return func(c *fiber.Ctx) error {
		admission, err := s.admit(c, cost, in)
		if err != nil {
			return err
		}
		defer admission.Leave()
		admission.Make(func() { err = c.Next() })
		return err
	}
}

// AdmitParts counts the units of an answer that is made in n parts after its handler has returned. They come on top
// of what Admit has counted. To make a part, call admit, which waits for a place until ctx ends. Then call leave.
// The refusal of AdmitParts is a 429.
func (s *Server) AdmitParts(c *fiber.Ctx, part Cost, n int) (admit func(ctx context.Context) (leave func(), err error), err error) {
	if err := s.Limits.raise(c, of(c.Context()).units+n*int(part)); err != nil {
		return nil, err
	}
	t := ticketOf(c, part)
	t.class = parts
	return func(ctx context.Context) (leave func(), err error) { return s.reads.enter(ctx, t, time.Time{}) }, nil
}

// raise counts what a request has paid less than the units. If too few are left, it counts none, gives back what
// the request has paid beyond the first unit, and returns the 429 to send.
func (l *Limits) raise(c *fiber.Ctx, units int) error {
	r := of(c.Context())
	more := units - r.units
	if more <= 0 {
		return nil
	}
	cl, v := l.count(c, l.chargeMore(c, r.units, more))
	if cl == nil {
		r.units = units
		return nil
	}
	left := v.remaining + max(r.units-1, 0)
	l.lower(c)
	v.retry += time.Duration(min(r.units, 1)) * cl.rate.Interval() // a retry counts the first unit again
	return problem.RateLimited(fmt.Sprintf(
		"This read costs %d units, because its answer has to be made, and %d are left of %s %s. Wait %d s, or send cheaper reads: %s.",
		units, left, cl.rate, cl.caller, max(seconds(v.retry), 1), cheaper), v.retry)
}

// lower gives back what a request has paid beyond the first unit.
func (l *Limits) lower(c *fiber.Ctx) {
	r := of(c.Context())
	if r.units > 1 {
		l.uncount(c, l.chargeMore(c, 1, r.units-1))
		r.units = 1
	}
}

// chargeMore returns the charges of n units beyond those that were counted before. A request is never charged
// more than the whole of a limit, so that a limit below the cost of a read doesn't forbid the read.
func (l *Limits) chargeMore(c *fiber.Ctx, before, n int) []charge {
	list := charges(c, &l.reads, &l.strangers.sharedReads, n)
	for i := range list {
		list[i].n = min(n, list[i].class.rate.N-before)
	}
	return slices.DeleteFunc(list, func(ch charge) bool { return ch.n <= 0 })
}

// cheaper names reads that a caller can send instead of an expensive one.
const cheaper = "a list without a search, a record by its id, or a shorter period of prices"
