// Package network decides which addresses count as one client.
package network

import "net/netip"

// Of returns the client that an address counts as: an IPv4 address itself, or the /64 prefix of an
// IPv6 address, because one client usually has a whole /64. Text that isn't an address is returned
// unchanged.
func Of(address string) string {
	if prefix, ok := prefixOf(address, 64); ok {
		return prefix
	}
	return address
}

// Block returns the /48 prefix of an IPv6 address. A home connection often has a /56 or a /48, so one person may send
// from all of it. ok is false for an IPv4 address, and for text that isn't an address.
func Block(address string) (prefix string, ok bool) { return prefixOf(address, 48) }

func prefixOf(address string, bits int) (prefix string, ok bool) {
	addr, err := netip.ParseAddr(address)
	if err != nil || !addr.Is6() || addr.Is4In6() {
		return "", false
	}
	p, err := addr.WithZone("").Prefix(bits)
	return p.String(), err == nil
}
