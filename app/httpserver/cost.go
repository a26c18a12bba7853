package httpserver

import (
	"fmt"
	"runtime"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/memo"
	"github.com/pulsecast/pulsecast/app/problem"
)

// Cost is how many units of the reads limit an answer takes that has to be made. An answer
// from memory takes one. A unit is about a millisecond of a processor, so an address that
// spends 1200 units a minute takes 2 % of one.
//
// The numbers are rounded up from the processor time of the node and of the database together,
// with 300,000 predictions, on the machine of docs/performance.md.
type Cost int

const (
	// Shared is for an answer that everyone gets who sends no parameter. It is made once for
	// all of them, a few times a second at most, so nobody pays for it or waits in a lane.
	Shared Cost = 0
	// Lookup is for one record and what belongs to it: 0.5 to 2 ms.
	Lookup Cost = 2
	// Listing is for a page of a list along an index: 1 to 3 ms.
	Listing Cost = 3
	// Page is for a page in HTML: 2 to 9 ms.
	Page Cost = 8
	// Search is for words to find, a ranking or a sum over many rows: 2 to 15 ms.
	Search Cost = 12
	// Drawing is for a picture in PNG: 25 to 30 ms.
	Drawing Cost = 30
)

// dear reports whether an answer is made in the lane for dear ones.
func (c Cost) dear() bool { return c > Listing }

// lanes are where answers are made that are in no memory.
type lanes struct{ quick, dear *lane }

const (
	// quickQueue and dearQueue are how many requests wait for each place of a lane.
	quickQueue, dearQueue = 64, 16
	// quickShare and dearShare are how many requests of one caller are in a lane.
	quickShare, dearShare = 16, 4
)

// newLanes leaves processors to everything else: to publishing, sessions, health and answers
// from memory. Together the lanes also leave more than half of the connections of the database.
// If reads aren't limited, callers aren't told apart.
func newLanes(connections int, counted bool) lanes {
	processors := runtime.GOMAXPROCS(0)
	quick := max(min(processors, connections/4), 1)
	dear := max(min(processors/2, connections/8), 1)
	made := lanes{newLane(quick, quick*quickQueue, quickShare), newLane(dear, dear*dearQueue, dearShare)}
	if !counted {
		made.quick.each, made.dear.each = made.quick.queue, made.dear.queue
	}
	return made
}

// Admit lets a read go on whose answer has to be made. It counts the units beyond the one that
// Limits.Reads has counted, and waits for a place in the lane. leave must be called once the
// answer is made. The refusal, 429 or 503, is for this caller only: others who wait for the
// same answer try for themselves.
func (s *Server) Admit(c *fiber.Ctx, cost Cost) (leave func(), err error) {
	if cost == Shared {
		return func() {}, nil
	}
	if err := s.Limits.moreReads(c, int(cost)-1); err != nil {
		return nil, memo.Private(err)
	}
	in := s.lanes.quick
	if cost.dear() {
		in = s.lanes.dear
	}
	leave, err = in.enter(c.UserContext(), counted(c))
	return leave, memo.Private(err)
}

// Made admits every request for what is kept in no memory.
func (s *Server) Made(cost Cost) fiber.Handler {
	return func(c *fiber.Ctx) error {
		leave, err := s.Admit(c, cost)
		if err != nil {
			return err
		}
		defer leave()
		return c.Next()
	}
}

// moreReads counts n units beyond the one that Reads has counted, at most all there are. If
// fewer are left, none is counted and it returns the 429 to send.
func (l *Limits) moreReads(c *fiber.Ctx, n int) error {
	if l.reads.rate.Off() || n <= 0 {
		return nil
	}
	v := l.take(c.UserContext(), &l.reads, counted(c), min(n, l.reads.rate.N-1))
	if !v.ok { // when the request comes again, its first unit is counted again
		v.retry += l.reads.rate.Per / time.Duration(l.reads.rate.N)
	}
	l.reads.announce(c, v)
	if v.ok {
		return nil
	}
	return problem.RateLimited(fmt.Sprintf(
		"This read counts as %d, because its answer has to be made, and %d are left of %s. Wait %d s, or send cheaper reads: %s.",
		n+1, v.remaining, l.reads.rate, max(seconds(v.retry), 1), cheaper), v.retry)
}

// cheaper names what a caller can ask for instead of a dear read.
const cheaper = "a list without a search, or a record by its id"
