package httpserver

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/problem"
)

const (
	// checkTurns is how many checks of addresses that have failed too often run at a time.
	checkTurns = 4
	// checkQueue is how many of these checks run or wait. One address may have checkShare of them.
	checkQueue, checkShare = 256, 32
)

// checks bounds the checks of bearers that aren't known here, because each costs a query or a request to the identity
// provider. An address may have as many checks as failed credentials; a check that accepts its bearer isn't counted.
// Further checks of an address run one at a time, and at most checkTurns of all such addresses run at once. So made-up
// bearers can't keep the database or the provider busy, and a valid key from the same address is still accepted.
type checks struct {
	own, block config.Rate // of an address and of its /48
	spent      *buckets    // nil without a limit on failures. Each process counts its own checks
	now        func() time.Time

	places      *Places       // of the checks that run or wait
	commonTurns chan struct{} // has an element for each check in its turn

	mu       sync.Mutex
	ownTurns map[bucketKey]*checkTurn // of the addresses with a check that runs or waits
}

// checkTurn is the turn that the checks of one address take.
type checkTurn struct {
	taken chan struct{} // has an element while a check runs, or waits for one of the common turns
	users int
}

func newChecks(failures config.Rate, now func() time.Time) *checks {
	k := &checks{
		own: failures, block: blockRate(failures), now: now,
		places: NewPlaces(checkQueue, checkShare), commonTurns: make(chan struct{}, checkTurns), ownTurns: map[bucketKey]*checkTurn{},
	}
	if !failures.Off() {
		k.spent = newBuckets()
	}
	return k
}

// Admit must be called before a check of a bearer that isn't known here. It may wait. Its error is a 503. After the
// check, done gets the refusal, or nil if the bearer was accepted. It is the same type as identity.Admit.
type Admit = func() (done func(refusal error), err error)

// AdmitCheck returns the Admit for the checks of bearers in a request.
func (s *Server) AdmitCheck(c *fiber.Ctx) Admit {
	return func() (done func(refusal error), err error) {
		return s.checks.enter(c.UserContext(), ClientAddr(c), of(c.Context()).start)
	}
}

// enter counts a check before it begins, so that many checks at once can't pass the limit. After a check that accepted
// its bearer, done takes the count back. If an address has no checks left, enter waits for a turn, at most until
// lanePatience after the request came.
func (k *checks) enter(ctx context.Context, addr netip.Addr, came time.Time) (done func(refusal error), err error) {
	if k.spent == nil || k.count(addr, 1) {
		return func(refusal error) {
			if k.spent != nil && refusal == nil {
				k.count(addr, -1)
			}
		}, nil
	}
	leave, err := k.wait(ctx, addr, came)
	return func(error) { leave() }, err
}

// count counts n checks against an address and its /48, or none if fewer are left.
func (k *checks) count(addr netip.Addr, n int) bool {
	now := k.now().UnixNano()
	if !k.spent.take(addrKey(addr), k.own, now, n).ok {
		return false
	}
	if block, ok := blockKey(addr); ok && !k.spent.take(block, k.block, now, n).ok {
		k.spent.take(addrKey(addr), k.own, now, -n)
		return false
	}
	return true
}

// wait waits for a turn of the address, and then for one of the common turns. An address has at most one of the common
// turns, so the addresses share them equally. All addresses of an IPv6 /48 take turns as one, because they may be one
// caller.
func (k *checks) wait(ctx context.Context, addr netip.Addr, came time.Time) (leave func(), err error) {
	by, ok := blockKey(addr)
	if !ok {
		by = addrKey(addr)
	}
	left, err := k.places.enter(by)
	if err != nil {
		return nil, checksFull(err)
	}
	ctx, cancel := context.WithDeadline(ctx, came.Add(lanePatience))
	defer cancel()
	turn := k.turnOf(by)
	giveUp := func() { k.leaveTurn(by, turn); left() }
	if !takeTurn(ctx, turn.taken) {
		giveUp()
		return nil, checksFull(ctx.Err())
	}
	if !takeTurn(ctx, k.commonTurns) {
		<-turn.taken
		giveUp()
		return nil, checksFull(ctx.Err())
	}
	return sync.OnceFunc(func() { <-k.commonTurns; <-turn.taken; giveUp() }), nil
}

// takeTurn adds an element to turns, and returns false if ctx ends before there is room.
func takeTurn(ctx context.Context, turns chan struct{}) bool {
	select {
	case turns <- struct{}{}:
		return true
	default:
	}
	select {
	case turns <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (k *checks) turnOf(by bucketKey) *checkTurn {
	k.mu.Lock()
	defer k.mu.Unlock()
	turn := k.ownTurns[by]
	if turn == nil {
		turn = &checkTurn{taken: make(chan struct{}, 1)}
		k.ownTurns[by] = turn
	}
	turn.users++
	return turn
}

func (k *checks) leaveTurn(by bucketKey, turn *checkTurn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if turn.users--; turn.users == 0 {
		delete(k.ownTurns, by)
	}
}

// checksFull returns the refusal for a bearer that got no turn.
func checksFull(cause error) error {
	return problem.Busy("Many keys from this address or its IPv6 /48 are wrong or still being checked, "+
		"so keys that are new to this node are checked one at a time. Yours was neither accepted nor refused. Send the same request again.", time.Second).With(cause)
}
