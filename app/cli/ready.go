package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/pulsecast/pulsecast/app/config"
)

type readyCommand struct{ config.Config }

// Run requests /readyz of the node that listens on ADDR. It is the health check of a container, because the
// image has no other program.
func (r *readyCommand) Run(ctx context.Context) error {
	host, port, err := net.SplitHostPort(r.Addr)
	if err != nil {
		return fmt.Errorf("ADDR: %q is not host:port", r.Addr)
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Scheme()+"://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return err
	}
	// The certificate names the public host, not this one.
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("not ready: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: /readyz says %s", resp.Status)
	}
	return nil
}
