package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Listen opens the address of METRICS_ADDR, so that an unusable address stops the start. Close
// releases it.
func (m *Metrics) Listen(addr string) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		if cause := errors.Unwrap(err); cause != nil {
			err = cause
		}
		return fmt.Errorf("METRICS_ADDR: cannot listen on %s: %w", addr, err)
	}
	m.listener = ln
	return nil
}

// Addr returns the listening address, or "" if there is no listener.
func (m *Metrics) Addr() string {
	if m.listener == nil {
		return ""
	}
	return m.listener.Addr().String()
}

// Start serves GET /metrics if Listen was called, else it does nothing.
func (m *Metrics) Start() {
	if m.listener == nil {
		return
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		Timeout: 10 * time.Second, MaxRequestsInFlight: 4,
	}))
	m.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute}
	m.served = make(chan error, 1)
	go func() { m.served <- m.server.Serve(m.listener) }()
}

// Stop ends the server.
func (m *Metrics) Stop(ctx context.Context) error {
	if m.server == nil {
		return nil
	}
	server := m.server
	m.server = nil // a second Stop has nothing to wait for
	err := server.Shutdown(ctx)
	if served := <-m.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("stop metrics: %w", err)
	}
	return nil
}

// Close releases the address if Start never ran.
func (m *Metrics) Close() error {
	if m.listener == nil {
		return nil
	}
	if err := m.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close metrics: %w", err)
	}
	return nil
}
