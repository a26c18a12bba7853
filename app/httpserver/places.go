package httpserver

import (
	"errors"
	"slices"
	"sync"

	"github.com/gofiber/fiber/v2"
)

// Places bounds how many of one thing, such as long answers or connections, a node has at a time, and how many of them
// one caller gets.
type Places struct {
	most, share int

	mu     sync.Mutex
	taken  int
	held   map[bucketKey]int
	shared map[bucketKey]int // as held, for the callers of one address, owner or /48 together
}

// ErrShare and ErrFull are the reasons for having no place: the caller has its share, or all places are taken.
var (
	ErrShare = errors.New("the caller has its share of the places")
	ErrFull  = errors.New("all places are taken")
)

// NewPlaces makes places of which one caller may have a share. The keys of one address or owner together may have
// KeysShare times as many, and the addresses of one /48 together BlockShare times as many.
func NewPlaces(most, share int) *Places {
	return &Places{most: most, share: share, held: map[bucketKey]int{}, shared: map[bucketKey]int{}}
}

// Enter takes a place for a request. The place counts against the agent of the request, else against its address. It
// also counts against the address, owner and /48 that the caller shares places with. err is ErrShare or ErrFull. If it
// is nil, the caller must call leave once the answer is sent.
func (p *Places) Enter(c *fiber.Ctx) (leave func(), err error) {
	return p.enter(counted(c), placeSharers(c)...)
}

func (p *Places) enter(by bucketKey, sharers ...bucketKey) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sharedOut := func(key bucketKey) bool { return p.shared[key] >= key.shares()*p.share }
	switch {
	case p.held[by] >= p.share || slices.ContainsFunc(sharers, sharedOut):
		return nil, ErrShare
	case p.taken >= p.most:
		return nil, ErrFull
	}
	p.hold(by, sharers, 1)
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.hold(by, sharers, -1)
	}), nil
}

func (p *Places) hold(by bucketKey, sharers []bucketKey, n int) {
	p.taken += n
	add(p.held, by, n)
	for _, key := range sharers {
		add(p.shared, key, n)
	}
}
