package httpserver

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/problem"
)

const (
	// maxConnections is the largest number of connections of a node, and maxConnectionsOfPeer of one address or /64, unless
	// it may have more streams. A connection keeps about 80 KiB for its buffers, also while it is idle.
	maxConnections       = 32 << 10
	maxConnectionsOfPeer = 1 << 10
	// maxLongBodies is the largest number of bodies of more than MaxBody that a node reads at a time, and
	// maxLongBodiesOfPeer from one address or /64. fasthttp makes room for a body when its length is announced.
	maxLongBodies       = 128
	maxLongBodiesOfPeer = 16
)

func init() {
	// fasthttp would keep the buffer of a long body for as long as its connection is open.
	fasthttp.SetBodySizePoolLimit(MaxBody, -1)
}

// strict wraps a listener so that its connections pass on only well-formed requests. It bounds the connections and long
// bodies of a peer, but not of a trusted proxy. A connection too many is closed.
type strict struct {
	net.Listener
	server *Server
}

func (l strict) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		leave, err := l.server.takePlace(l.server.connections, c)
		if err != nil {
			_ = c.Close() // the client sees the end, whether or not this fails
			continue
		}
		made := &strictConn{Conn: c, leave: leave}
		made.framing.long = func() *problem.Error {
			leave, err := l.server.takePlace(l.server.longBodies, c)
			if err != nil {
				return manyLongBodies
			}
			made.long.Store(&leave)
			return nil
		}
		return made, nil
	}
}

// takePlace takes a place for the peer of a connection.
func (s *Server) takePlace(places *Places, c net.Conn) (leave func(), err error) {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return func() {}, nil
	}
	addr := tcp.AddrPort().Addr().Unmap()
	if s.trusts(addr) {
		return func() {}, nil
	}
	return places.enter(addrKey(addr), appendBlock(nil, addr)...)
}

// mostDiscarded is how many bytes after a refusal are read. Many clients send their whole body before they read the
// refusal, so it is several times what a body may have.
const mostDiscarded = 4 << 20

// strictConn is the connection of a client.
type strictConn struct {
	net.Conn
	framing framing
	unread  atomic.Bool            // read the rest of the input before closing
	onClose func()                 // nil: nothing
	leave   func()                 // gives back its place
	long    atomic.Pointer[func()] // gives back the place of a long body, which it keeps until it closes; nil: it has none
}

// Read returns a *problem.Error in place of the end of a malformed request.
func (c *strictConn) Read(p []byte) (int, error) {
	for {
		if c.framing.refusal != nil {
			return 0, c.framing.refusal
		}
		n, err := c.Conn.Read(p)
		if n = c.framing.pass(p[:n]); n > 0 || err != nil {
			if plain, ok := errors.AsType[tls.RecordHeaderError](err); ok && plain.Conn != nil {
				answerPlain(plain.Conn)
			}
			return n, err
		}
	}
}

// Close lets the client receive a refusal that was sent before the whole request was read (400, 413, 431).
// Closing a socket with unread bytes resets the connection, and a reset discards what was just written. If
// there is unread input, Close first ends the sending side and then reads at most mostDiscarded for at most a
// second.
func (c *strictConn) Close() error {
	// The client may connect again as soon as it sees the end.
	c.leave()
	if leave := c.long.Load(); leave != nil {
		(*leave)()
	}
	if c.onClose != nil {
		c.onClose()
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.unread.Load() {
		if half.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(time.Second)) == nil {
			// The error doesn't matter: the connection is closed next.
			_, _ = io.CopyN(io.Discard, c.Conn, mostDiscarded)
		}
	}
	return c.Conn.Close()
}
