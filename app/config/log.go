package config

import (
	"io"
	"log/slog"
)

// Logger returns a logger that writes to out in the form of LOG_FORMAT; "off" keeps only errors. A nil out
// discards everything.
func (c *Config) Logger(out io.Writer) *slog.Logger {
	if out == nil {
		return slog.New(slog.DiscardHandler)
	}
	switch c.LogFormat {
	case "json":
		return slog.New(slog.NewJSONHandler(out, nil))
	case "off":
		return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelError}))
	default:
		return slog.New(slog.NewTextHandler(out, nil))
	}
}
