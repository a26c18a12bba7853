package config

import (
	"crypto/tls"
	"fmt"
)

// Scheme returns "https" if the program itself serves HTTPS, else "http".
func (c *Config) Scheme() string {
	if c.TLSCert != "" {
		return "https"
	}
	return "http"
}

// checkTLS checks that the certificate can be served.
func (c *Config) checkTLS() error {
	switch {
	case c.TLSCert == "" && c.TLSKey == "":
		return nil
	case c.TLSCert == "":
		return fmt.Errorf("TLS_CERT: needed with TLS_KEY")
	case c.TLSKey == "":
		return fmt.Errorf("TLS_KEY: needed with TLS_CERT")
	case !hasScheme(c.BaseURL, "https"):
		return fmt.Errorf("BASE_URL: must start with https:// if TLS_CERT is set, got %q", c.BaseURL)
	}
	if _, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey); err != nil {
		return fmt.Errorf("TLS_CERT, TLS_KEY: %w", err)
	}
	return nil
}
