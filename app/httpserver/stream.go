package httpserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"
	"golang.org/x/sync/errgroup"

	"github.com/pulsecast/pulsecast/app/problem"
)

const (
	// streamWriteTimeout bounds one write to a stream.
	streamWriteTimeout = 10 * time.Second
	// maxUnsent is how many bytes may wait for a reader. A reader with more is too slow.
	maxUnsent = 128 << 10
	// streamRest is the least time that Admit waits after a refusal.
	streamRest = time.Second
	// streamSendBuffer is the size of the operating system's send buffer of a stream, in bytes.
	streamSendBuffer = 32 << 10
)

// Stream is an answer that goes on until its reader leaves, the server stops or its bearer is no longer
// valid. The connection is taken from the server, which then holds no buffers for it: an idle stream costs
// one goroutine and a socket.
type Stream struct {
	conn    net.Conn
	bearer  string    // "" for an anonymous reader
	agentID uuid.UUID // of the bearer; uuid.Nil if it isn't known
	release func()    // gives the stream's place back
	admit   func(done <-chan struct{}, cost Cost) (leave func(), retry time.Duration)
	done    chan struct{}
	// doubtful says that the bearer could not be checked at the last try. It is guarded by streams.mu.
	doubtful bool

	mu      sync.Mutex
	sent    *sync.Cond // unsent became empty, or the stream is closed
	unsent  net.Buffers
	bytes   int // of unsent and of the current write
	writing bool
	closed  bool
}

func newStream(conn net.Conn, bearer string, release func()) *Stream {
	s := &Stream{conn: bare(conn), bearer: bearer, release: release, done: make(chan struct{})}
	s.sent = sync.NewCond(&s.mu)
	if tcp, ok := s.conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(streamSendBuffer) // with the default size a slow reader costs more memory
	}
	return s
}

// bare returns the connection below the wrappers of the listener and fasthttp.
func bare(conn net.Conn) net.Conn {
	if hijacked, ok := conn.(interface{ UnsafeConn() net.Conn }); ok {
		conn = hijacked.UnsafeConn()
	}
	if l, ok := conn.(*strictConn); ok {
		conn = l.Conn
	}
	return conn
}

// Send queues texts, which must not change afterwards. It doesn't wait. If more than 128 KiB would be queued,
// it closes the stream.
func (s *Stream) Send(texts ...[]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	for _, t := range texts {
		s.bytes += len(t)
	}
	if s.bytes > maxUnsent {
		s.close()
		return
	}
	s.unsent = append(s.unsent, texts...)
	if !s.writing && s.bytes > 0 {
		s.writing = true
		go s.write()
	}
}

// write sends the queue and returns. A goroutine that waited for more would cost every idle stream its
// stack.
func (s *Stream) write() {
	for {
		s.mu.Lock()
		list, n := s.unsent, s.bytes
		s.unsent = nil
		if len(list) == 0 || s.closed {
			s.writing = false
			s.sent.Broadcast()
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		err := s.conn.SetWriteDeadline(time.Now().Add(streamWriteTimeout))
		if err == nil {
			_, err = list.WriteTo(s.conn)
		}
		s.mu.Lock()
		s.bytes -= n
		if err != nil {
			s.close()
		}
		s.mu.Unlock()
	}
}

// Flush waits until the queue is written. It returns false once the stream is closed.
func (s *Stream) Flush() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.writing && !s.closed {
		s.sent.Wait()
	}
	return !s.closed
}

// Admit waits until a part of the answer may be made that isn't in memory. It counts the units of the cost
// against the reads limit of the caller, and waits for a place in the lane. It returns false once the stream is
// closed. Otherwise the caller must call leave once the part is made, and before it waits for the reader.
func (s *Stream) Admit(cost Cost) (leave func(), ok bool) {
	for {
		leave, retry := s.admit(s.done, cost)
		if leave != nil {
			return leave, true
		}
		select {
		case <-time.After(max(retry, streamRest)):
		case <-s.done:
			return nil, false
		}
	}
}

// Done is closed when the stream closes.
func (s *Stream) Done() <-chan struct{} { return s.done }

// Close ends the stream.
func (s *Stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close()
}

func (s *Stream) close() {
	if s.closed {
		return
	}
	s.closed = true
	s.unsent = nil
	s.release()        // first, because a reader that sees the end may connect again at once
	_ = s.conn.Close() // the reader may have closed it
	close(s.done)
	s.sent.Broadcast()
}

// wait reads until the reader closes the connection. It drops what it reads.
func (s *Stream) wait() {
	var dropped [64]byte
	for {
		if _, err := s.conn.Read(dropped[:]); err != nil {
			s.Close()
			return
		}
	}
}

// Stream answers a request with its status and headers, and then passes the connection to begin, which runs
// on a separate goroutine. HEAD gets only the headers. Refusals: 429 rate_limited if the address or its /48 has too
// many streams, 503 unavailable if the node has too many or stops.
func (s *Server) Stream(c *fiber.Ctx, contentType string, begin func(*Stream)) error {
	h := &c.Response().Header
	h.SetContentType(contentType)
	h.Set("X-Accel-Buffering", "no") // a proxy must not buffer the answer
	if c.Method() == fiber.MethodHead {
		return nil
	}
	release, err := s.streams.enter(ClientAddr(c))
	if err != nil {
		s.Limits.lower(c)
		return err
	}
	by, payers := counted(c), charges(c, &s.Limits.reads, &s.Limits.strangers.sharedReads, 0)
	var agentID uuid.UUID
	if p := PrincipalOf(c); p != nil {
		agentID = p.AgentID()
	}
	of(c.Context()).stream = &streaming{
		begin: begin, release: release, bearer: Bearer(c), agentID: agentID,
		admit: func(done <-chan struct{}, cost Cost) (func(), time.Duration) {
			return s.admitStream(done, by, payers, cost)
		},
	}
	return nil
}

// streaming says how to continue with the connection of a request once its headers are complete.
type streaming struct {
	begin   func(*Stream)
	release func()
	admit   func(done <-chan struct{}, cost Cost) (leave func(), retry time.Duration)
	bearer  string
	agentID uuid.UUID
}

// admitStream admits a stream of a caller, or returns the time after which to try again. payers are the limits that
// the cost counts against. At most streamTurns streams of all callers work in the lane or wait for it, so that many
// streams at once don't fill its queue. They wait for their turns without a place, and only after they have paid.
func (s *Server) admitStream(done <-chan struct{}, by bucketKey, payers []charge, cost Cost) (leave func(), retry time.Duration) {
	ctx := context.Background() // each step below has a bound
	payers = slices.Clone(payers)
	for i := range payers {
		payers[i].n = min(int(cost), payers[i].class.rate.N)
	}
	if exceeded, limit := s.Limits.takeAll(ctx, payers); exceeded != nil {
		return nil, limit.verdict.retry
	}
	select {
	case s.streams.turns <- struct{}{}:
	case <-done:
		s.Limits.giveBackAll(ctx, payers)
		return nil, 0
	}
	release, err := s.reads.enter(ctx, ticket{by: by, class: cost.queue()}, time.Now())
	if err != nil {
		<-s.streams.turns
		s.Limits.giveBackAll(ctx, payers)
		return nil, 0
	}
	return func() { release(); <-s.streams.turns }, 0
}

// hijack takes over the connection after the headers are complete. The answer ends with the connection, so
// it has no length.
func (s *Server) hijack(fctx *fasthttp.RequestCtx, st *streaming) {
	var head bytes.Buffer
	h := &fctx.Response.Header
	h.SetContentLength(-2) // none
	h.Del(fiber.HeaderTransferEncoding)
	w := bufio.NewWriter(&head)
	if err := errors.Join(h.Write(w), w.Flush()); err != nil {
		st.release()
		return
	}
	// fasthttp doesn't call the handler below if it can't send the answers to earlier requests. It then closes the
	// connection. An open stream closes only the connection below this one.
	if c, ok := fctx.Conn().(*strictConn); ok {
		release := st.release
		c.onClose = release
		st.release = func() { release(); c.leave() }
	}
	fctx.HijackSetNoResponse(true)
	fctx.Hijack(func(conn net.Conn) {
		stream := newStream(conn, st.bearer, st.release)
		stream.admit, stream.agentID = st.admit, st.agentID
		// The bearer may have ended while the request waited, before watchStreams knew of its stream.
		if !s.streams.add(stream) || refuses(s.checkStream(context.Background(), stream)) {
			stream.Close()
			return
		}
		stream.Send(head.Bytes())
		go stream.wait()
		go st.begin(stream)
	})
}

// watchStreams closes the streams whose bearers are no longer valid, until ctx ends. The recheck of each minute and the
// tries after a failure may wait for a slow identity provider, so a check after a change of the epoch doesn't wait for
// them. A check after a change of the epoch leaves out bearers in doubt, because during an outage the epoch moves at each
// try to read it.
func (s *Server) watchStreams(ctx context.Context) {
	go every(ctx, streamRecheckEvery, func() { s.checkStreams(ctx, s.streams.byBearer()) })
	go every(ctx, streamRetryEvery, func() { s.retryStreams(ctx) })
	var epoch uint64
	every(ctx, streamCheckEvery, func() {
		if now := s.opts.CredentialEpoch(); now != epoch {
			before := epoch
			epoch = now
			s.checkStreams(ctx, s.streams.changed(func(agentID uuid.UUID) bool { return s.opts.CredentialHolds(agentID, before) }))
		}
	})
}

// retryStreams checks bearers that could not be checked, a few at a time. It goes on only while one of them can be
// checked, so that an outage costs little.
func (s *Server) retryStreams(ctx context.Context) {
	for s.checkStreams(ctx, s.streams.takeDoubtful()) > 0 {
	}
}

// every calls f once per interval, or less often if f takes longer, until ctx ends.
func every(ctx context.Context, interval time.Duration, f func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f()
		case <-ctx.Done():
			return
		}
	}
}

// checkStreams checks the bearers of open streams, and closes the streams of those that are refused. It returns how
// many bearers could be checked.
func (s *Server) checkStreams(ctx context.Context, open map[string][]*Stream) (checked int64) {
	var checks errgroup.Group
	checks.SetLimit(streamChecks)
	var answers atomic.Int64
	for _, list := range open {
		checks.Go(func() error {
			err := s.checkStream(ctx, list...)
			if refuses(err) {
				for _, stream := range list {
					stream.Close()
				}
			}
			if err == nil || refuses(err) {
				answers.Add(1)
			}
			return nil
		})
	}
	_ = checks.Wait() // always nil
	return answers.Load()
}

// checkStream checks the bearer of a stream, or of several streams with one bearer. If it can't be checked, they go on,
// and are in doubt until retryStreams has checked it. The error tells which it is; see refuses.
func (s *Server) checkStream(ctx context.Context, streams ...*Stream) error {
	bearer := streams[0].bearer
	if bearer == "" {
		return nil
	}
	// A made-up bearer opens no stream, so these checks need no admission.
	_, err := s.opts.Authenticate(ctx, bearer, nil)
	if err != nil && !refuses(err) {
		s.streams.doubt(streams...)
	}
	return err
}

// refuses reports whether an error of Authenticate says that a bearer isn't valid. Any other error says nothing about
// the bearer.
func refuses(err error) bool {
	p, ok := errors.AsType[*problem.Error](err)
	return ok && (p.Status == fiber.StatusUnauthorized || p.Status == fiber.StatusForbidden)
}
