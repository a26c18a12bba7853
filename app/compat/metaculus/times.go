package metaculus

import (
	"strings"
	"time"
)

func lower(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// timeOrNull is nil for a time that isn't known, or that RFC 3339 can't write.
func timeOrNull(t time.Time) *string {
	if t.IsZero() || t.UTC().Year() > 9999 {
		return nil
	}
	s := formatTime(t)
	return &s
}
