//go:build !linux

package httpserver

import "net"

// refuseConnections does nothing: only Linux can refuse new connections of a listener and keep the existing
// ones.
func refuseConnections(net.Listener) error { return nil }
