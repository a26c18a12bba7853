package api

import (
	"context"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
)

const (
	// sharedCaching lets caches keep an answer that is the same for every caller, but makes them revalidate
	// it before each use. A revalidation is answered from memory.
	sharedCaching = "no-cache"
	// ownCaching keeps an answer to a bearer out of shared caches.
	ownCaching = "private, no-cache"
)

// answerBounds bound the answers in memory, together to 20 MiB.
var answerBounds = answer.Bounds{Main: 2 << 20, Once: 4 << 20, Again: 14 << 20}

// operation is a public GET operation. Its answer depends only on the query, which is its key, and on the
// data of its topics.
type operation[Q comparable] struct {
	// parse reads the query in its canonical form: equivalent requests give equal queries.
	parse  func(c *fiber.Ctx) (Q, error)
	read   func(ctx context.Context, q Q) (any, error)
	topics []generation.Topic
	// cost returns the cost of the answer to a query if no copy is in memory.
	cost func(q Q) httpserver.Cost
	// archived is whether read reads the archive.
	archived bool
}

// costs returns the cost function of an operation that costs the same for every query.
func costs[Q any](cost httpserver.Cost) func(Q) httpserver.Cost {
	return func(Q) httpserver.Cost { return cost }
}

// cached returns the handler of an operation. It answers from the copy in memory while the copy is current.
// A caller with a bearer gets a copy that contains everything committed before its request.
func cached[Q comparable](a *API, op operation[Q]) fiber.Handler {
	return func(c *fiber.Ctx) error {
		q, err := op.parse(c)
		if err != nil {
			return err
		}
		query, err := a.query(c, q, op.topics)
		if err != nil {
			return err
		}
		found := a.answers.Find(&query)
		if found == nil {
			admit := a.admit
			if op.archived {
				admit = a.admitArchived
			}
			found, err = a.load(c, &query, admit, op.cost(q), func(ctx context.Context) (*answer.Answer, error) {
				value, err := op.read(ctx, q)
				if err != nil {
					return nil, err
				}
				return encoded(value)
			})
			if err != nil {
				return a.sendLastGood(c, &query, err)
			}
		}
		a.sendFound(c, found, caching(c))
		return nil
	}
}

// sendFound sends an answer. If it was read from a replica that may be too far behind, it is marked like a last good copy.
func (a *API) sendFound(c *fiber.Ctx, found *answer.Answer, cacheControl string) {
	if !found.StaleSince.IsZero() {
		httpserver.MarkStale(c.Context(), a.Now().Sub(found.StaleSince))
		cacheControl = httpserver.StaleCaching
	}
	sendAnswer(c, found, cacheControl)
}

// query returns the cache query of a request. For a caller with a bearer it first reads the counters of all
// topics.
func (a *API) query(c *fiber.Ctx, key any, topics []generation.Topic) (answer.Query, error) {
	q := answer.Query{Key: key, KeySize: len(c.OriginalURL()), Topics: topics, Current: caller(c) != nil}
	if !q.Current {
		return q, nil
	}
	return q, a.Changes.Check(c.UserContext())
}

// load makes an answer that isn't in memory, with the form that the caller prefers. The caller that makes it pays its
// cost. A Shared answer is a main one. For a caller without a bearer it costs nothing, so it may be made in the
// background.
func (a *API) load(
	c *fiber.Ctx, query *answer.Query, admit admitFunc, cost httpserver.Cost, produce func(context.Context) (*answer.Answer, error),
) (*answer.Answer, error) {
	shared := cost == httpserver.Shared
	query.Main, query.Background = shared, shared && !query.Current
	if shared && query.Current {
		cost = httpserver.Listing // it may be made whenever anything was published, and not only a few times a second
	}
	coding := httpserver.QuickCoding(c.Context())
	return a.answers.Load(c.UserContext(), query, func(ctx context.Context) (*answer.Answer, error) {
		finish := func() (made *answer.Answer, err error) {
			if made, err = produce(ctx); err == nil {
				made.SentOften = shared
				httpserver.Preferred(made, coding)
			}
			return made, err
		}
		if cost == httpserver.Shared {
			return finish()
		}
		admission, err := admit(c, cost)
		if err != nil {
			return nil, err
		}
		defer admission.Leave()
		var made *answer.Answer
		admission.Make(func() { made, err = finish() })
		return made, err
	})
}

// sendLastGood sends the last good copy, marked stale, if the caller is anonymous and err means that no newer one
// can be made now. Otherwise it returns err.
func (a *API) sendLastGood(c *fiber.Ctx, query *answer.Query, err error) error {
	if caller(c) != nil || !httpserver.Unavailable(err) {
		return err
	}
	last, madeAt := a.answers.LastGood(query)
	if last == nil {
		return err
	}
	httpserver.MarkStale(c.Context(), a.Now().Sub(madeAt))
	sendAnswer(c, last, httpserver.StaleCaching)
	return nil
}

func encoded(value any) (*answer.Answer, error) {
	body, err := answer.JSON(value)
	if err != nil {
		return nil, err
	}
	return answer.New(body, answer.Digest(body)), nil
}

// respondOwn answers a GET with data that belongs to the caller.
func respondOwn(c *fiber.Ctx, value any) error {
	a, err := encoded(value)
	if err == nil {
		sendAnswer(c, a, ownCaching)
	}
	return err
}

// caching returns the Cache-Control of an answer to this caller.
func caching(c *fiber.Ctx) string {
	if caller(c) != nil {
		return ownCaching
	}
	return sharedCaching
}

// sendAnswer sends the form that the request prefers, or 304.
func sendAnswer(c *fiber.Ctx, a *answer.Answer, cacheControl string) {
	sendForm(c.Context(), httpserver.Preferred(a, httpserver.QuickCoding(c.Context())), cacheControl)
}

func sendForm(ctx *fasthttp.RequestCtx, f *answer.Form, cacheControl string) {
	httpserver.Respond(ctx, httpserver.Representation{
		Body: f.Body, Coding: f.Coding, ETag: f.ETag, ContentType: fiber.MIMEApplicationJSON, CacheControl: cacheControl,
	})
}
