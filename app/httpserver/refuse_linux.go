package httpserver

import (
	"errors"
	"math"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// handshakeTime is the longest time that a handshake under way takes.
	handshakeTime = 100 * time.Millisecond
	// queueTime bounds the wait for the server to accept the completed connections.
	queueTime = time.Second
	// nowhere is the index of a network interface that doesn't exist.
	nowhere = math.MaxInt32
)

// refuseConnections prepares a listener in use for closing. Closing a listener resets the connections that
// the kernel has completed and the server hasn't accepted. A proxy that has sent a POST on one of these
// can't send it again to another node. So refuseConnections first binds the listener to an interface that
// receives no packets. The kernel then refuses new connections, as after the close, but still completes
// handshakes under way. refuseConnections returns when the server has accepted all completed connections.
func refuseConnections(ln net.Listener) error {
	sc, ok := ln.(syscall.Conn)
	if !ok {
		return nil // not of the kernel
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return err
	}
	control := func(f func(fd int) error) error {
		var failed error
		if err := raw.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil {
			return err
		}
		return failed
	}
	// Linux 5.7 and later allow it without privileges.
	err = control(func(fd int) error {
		return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BINDTOIFINDEX, nowhere)
	})
	if err != nil {
		return err
	}
	time.Sleep(handshakeTime)
	for waited := time.Duration(0); waited < queueTime; waited += time.Millisecond {
		var info *unix.TCPInfo
		err := control(func(fd int) (err error) {
			info, err = unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
			return err
		})
		if err != nil || info.Unacked == 0 { // of a listener: the connections to accept
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return errors.New("the server takes no more connections")
}
