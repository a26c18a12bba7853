package source

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
)

// MaxPayload is how much of a bad payload is kept, in bytes.
const MaxPayload = 16 << 10

// Payload is what an upstream sent that could not be used: the body of an answer or
// one record of it, never anything of the request.
type Payload struct {
	Source string // its name, as in News.Source
	Reason string // a word of Dropped or of Error
	Body   []byte // as it came, its first MaxPayload bytes
	Cut    int64  // bytes that came after those; of a body too large to be read, at least
}

// Rejects collects the last bad payload of each source while a reading goes on.
type Rejects struct {
	mu   sync.Mutex
	last map[string]Payload
}

type (
	rejectsKey struct{}
	nameKey    struct{}
)

// Into has everything below a context reject into r.
func (r *Rejects) Into(ctx context.Context) context.Context {
	return context.WithValue(ctx, rejectsKey{}, r)
}

// Payloads are those collected, in order of their source's name.
func (r *Rejects) Payloads() []Payload {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Values(r.last), func(a, b Payload) int { return strings.Compare(a.Source, b.Source) })
}

// As names the source that reads below a context.
func As(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, nameKey{}, name)
}

// Private keeps what is read below a context out of every collection: its answers
// hold secrets.
func Private(ctx context.Context) context.Context {
	return context.WithValue(ctx, rejectsKey{}, (*Rejects)(nil))
}

// Reject hands a bad payload to who collects them, if anybody does. cut is how many
// bytes of it are missing from body already.
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
