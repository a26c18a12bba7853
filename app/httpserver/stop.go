package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// Start serves on ln until ctx ends or Stop is called. It returns nil once the requests in flight are
// answered.
//
// When ctx ends, Start first drains for Config.Drain: /readyz answers 503, so that a load balancer chooses
// another node. Requests are still served, but each answer closes its connection. If the cause of the end
// is ErrInterrupted, Start doesn't drain.
func (s *Server) Start(ctx context.Context, ln net.Listener) error {
	watching, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	go s.watchStreams(watching)
	go s.health.watch(watching)
	if s.opts.OwnProcess {
		s.reads.threads = startThreads(watching, s.reads.places, s.opts.Logger)
	}
	served := make(chan error, 1)
	go func() { served <- s.App.Listener(strict{s.secured(ln), s}) }()
	select {
	case err := <-served: // Stop, or a broken listener
		return s.ended(err)
	case <-ctx.Done():
	}
	wait := interruptTimeout
	if !errors.Is(context.Cause(ctx), ErrInterrupted) {
		wait = drainTimeout
		if s.drain(ln, served) {
			return nil
		}
	}
	err := s.stop(context.WithoutCancel(ctx), wait)
	// A Stop that came before fasthttp knew its listener has not closed it.
	if closed := ln.Close(); closed != nil && !errors.Is(closed, net.ErrClosed) {
		err = errors.Join(err, closed)
	}
	<-served
	return err
}

// secured returns ln with TLS if there is a certificate.
func (s *Server) secured(ln net.Listener) net.Listener {
	if conf := serverTLS(s.opts.Config.TLSCert, s.opts.Config.TLSKey, s.opts.Logger); conf != nil {
		return tls.NewListener(ln, conf)
	}
	return ln
}

func (s *Server) ended(err error) error {
	if s.stopping.Load() {
		return nil
	}
	return fmt.Errorf("serve http: %w", err)
}

// drain returns once the listener can be closed without losing a request. It returns true if the listener
// was closed already.
func (s *Server) drain(ln net.Listener, served chan error) (closed bool) {
	s.draining.Store(true)
	if s.opts.Config.Drain <= 0 {
		return false
	}
	s.opts.Logger.Info("draining before the stop", "for", s.opts.Config.Drain)
	timer := time.NewTimer(s.opts.Config.Drain)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-served: // Stop
		return true
	}
	if err := refuseConnections(ln); err != nil {
		s.opts.Logger.Warn("connections made while the listener closes may be reset", "error", err)
	}
	return false
}

// Stop closes the listener and waits for the requests in flight, at most ten seconds or until ctx ends. It
// closes streams at once. It also closes connections that are still open at the end, because a client that
// connects and never sends a request must not turn a clean stop into a failure.
func (s *Server) Stop(ctx context.Context) error { return s.stop(ctx, drainTimeout) }

func (s *Server) stop(ctx context.Context, wait time.Duration) error {
	s.draining.Store(true)
	s.stopping.Store(true)
	s.streams.stop()
	inFlight, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := s.App.ShutdownWithContext(inFlight)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		s.opts.Logger.Warn("connections cut at stop", "after", wait)
	case err != nil && !errors.Is(err, net.ErrClosed):
		return fmt.Errorf("stop http: %w", err)
	}
	return nil
}
