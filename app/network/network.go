// Package network decides which addresses count as one client.
package network

import "net/netip"

// Of returns the client that an address counts as: an IPv4 address itself, or the /64 prefix of an
// IPv6 address, because one client usually has a whole /64. Text that isn't an address is returned
// unchanged.
func Of(address string) string {
	addr, err := netip.ParseAddr(address)
	if err != nil || !addr.Is6() || addr.Is4In6() {
		return address
	}
	prefix, err := addr.WithZone("").Prefix(64)
	if err != nil {
		return address
	}
	return prefix.String()
}
