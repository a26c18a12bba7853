package httpserver

import (
	"bytes"
	"net"
	"net/netip"

	"github.com/valyala/fasthttp"
)

// peerAddr returns the address at the other end of the socket.
func peerAddr(fctx *fasthttp.RequestCtx) netip.Addr {
	if tcp, ok := fctx.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

func (s *Server) trusts(addr netip.Addr) bool {
	addr = addr.WithZone("")
	for _, p := range s.proxies {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// clientBehind returns the client's address from X-Forwarded-For, which it reads from the right. Each
// trusted proxy vouches only for the address it wrote, so the first address that isn't a trusted proxy is
// the client. Everything left of it is unverified. An entry that isn't an address ends the walk at the hop
// before it.
func (s *Server) clientBehind(peer netip.Addr, headers [][]byte) netip.Addr {
	client := peer
	for i := len(headers) - 1; i >= 0; i-- {
		rest := headers[i]
		for len(rest) > 0 {
			cut := bytes.LastIndexByte(rest, ',')
			hop, ok := parseHop(bytes.TrimSpace(rest[cut+1:]))
			if !ok {
				return client
			}
			client = hop
			if !s.trusts(hop) {
				return client
			}
			rest = rest[:max(cut, 0)]
		}
	}
	return client
}

// parseHop reads "192.0.2.1", "192.0.2.1:80", "2001:db8::1" or "[2001:db8::1]:80". It drops a zone:
// limits are per address.
func parseHop(text []byte) (netip.Addr, bool) {
	if port, err := netip.ParseAddrPort(string(text)); err == nil {
		return port.Addr().Unmap().WithZone(""), true
	}
	addr, err := netip.ParseAddr(string(bytes.Trim(text, "[]")))
	return addr.Unmap().WithZone(""), err == nil
}
