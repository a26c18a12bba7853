package metaculus

import "time"

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// timeOrNull returns nil for the zero time, and for a time that RFC 3339 can't express.
func timeOrNull(t time.Time) *string {
	if t.IsZero() || t.UTC().Year() > 9999 {
		return nil
	}
	s := formatTime(t)
	return &s
}
