package httpserver

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// strict wraps the connections of a listener: they pass on well-formed requests only.
type strict struct{ net.Listener }

func (l strict) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &strictConn{Conn: c}, nil
}

// strictConn is a connection of a client.
type strictConn struct {
	net.Conn
	framing framing
	unread  atomic.Bool // close only after reading what is still coming
}

// Read returns a *problem.Error where a malformed request would end.
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

// Close lets a refusal that was sent before the whole request was read (400, 413, 431) reach
// the client: closing a socket with unread bytes resets it, and a reset throws away what was
// just written. It ends our side first if there is unread input, then reads at most 1 MiB for
// at most a second.
func (c *strictConn) Close() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.unread.Load() {
		if half.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(time.Second)) == nil {
			// How it ends does not matter: the connection is closed next.
			_, _ = io.CopyN(io.Discard, c.Conn, 1<<20)
		}
	}
	return c.Conn.Close()
}
