package source

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
)

// MaxPayload is the largest part of an unusable payload that is kept, in bytes.
const MaxPayload = 16 << 10

// Payload is unusable data from an upstream: the body of a response or one record of it. It never contains a
// part of the request.
type Payload struct {
	Source string // the source's name, as in News.Source
	Reason string // a reason of Dropped or of Error
	Body   []byte // the first MaxPayload bytes as received
	Cut    int64  // number of bytes after these; a lower bound if the body was too large to read
}

// Rejects collects the last unusable payload of each source during a reading.
type Rejects struct {
	mu   sync.Mutex
	last map[string]Payload
}

type (
	rejectsKey struct{}
	nameKey    struct{}
)

// Into returns a context in which Reject adds payloads to r.
func (r *Rejects) Into(ctx context.Context) context.Context {
	return context.WithValue(ctx, rejectsKey{}, r)
}

// Payloads returns the collected payloads, ordered by the source's name.
func (r *Rejects) Payloads() []Payload {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Values(r.last), func(a, b Payload) int { return strings.Compare(a.Source, b.Source) })
}

// As returns a context that names the source for Reject.
func As(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, nameKey{}, name)
}

// Private returns a context in which Reject does nothing. It is for responses with secrets.
func Private(ctx context.Context) context.Context {
	return context.WithValue(ctx, rejectsKey{}, (*Rejects)(nil))
}

// Reject adds an unusable payload to the context's Rejects, if there is one. cut is the number of bytes already
// missing from body.
func Reject(ctx context.Context, reason string, body []byte, cut int64) {
	r, _ := ctx.Value(rejectsKey{}).(*Rejects)
	name, _ := ctx.Value(nameKey{}).(string)
	if r == nil || name == "" {
		return
	}
	if over := len(body) - MaxPayload; over > 0 {
		body, cut = body[:MaxPayload], cut+int64(over)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.last = map[string]Payload{}
	}
	r.last[name] = Payload{Source: name, Reason: reason, Body: bytes.Clone(body), Cut: cut}
}
