// Package network says which addresses count as one client.
package network

import "net/netip"

// Of returns what counts as one client: an IPv4 address itself, or the /64 of an IPv6
// address, since one client has a whole /64. Text that is no address is returned as it
// is.
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
