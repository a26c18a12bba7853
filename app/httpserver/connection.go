package httpserver

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// strict wraps a listener so that its connections pass on only well-formed requests.
type strict struct{ net.Listener }

func (l strict) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &strictConn{Conn: c}, nil
}

// strictConn is the connection of a client.
type strictConn struct {
	net.Conn
	framing framing
	unread  atomic.Bool // read the rest of the input before closing
	onClose func()      // nil: nothing
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
// there is unread input, Close first ends the sending side and then reads at most 1 MiB for at most a
// second.
func (c *strictConn) Close() error {
	if c.onClose != nil {
		c.onClose()
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.unread.Load() {
		if half.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(time.Second)) == nil {
			// The error doesn't matter: the connection is closed next.
			_, _ = io.CopyN(io.Discard, c.Conn, 1<<20)
		}
	}
	return c.Conn.Close()
}
