// Package cursor encodes the place where a page of a list ended as an opaque word of
// [A-Za-z0-9_-]. The next page starts there, even if entries were added in the meantime.
package cursor

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"time"

	"github.com/pulsecast/pulsecast/app/problem"
)

// maxLength is the length above which Decode refuses a cursor. Ours are far shorter.
const maxLength = 1024

// Encode returns the cursor for parts, which may hold any bytes.
func Encode(parts ...string) string {
	var b []byte
	for _, part := range parts {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// Decode returns the n parts of a cursor. For any other text it returns 400 invalid_parameter for
// the parameter cursor. The caller must check the parts and return Invalid if they make no sense.
func Decode(s string, n int) ([]string, error) {
	if len(s) > maxLength {
		return nil, Invalid()
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return nil, Invalid()
	}
	var parts []string
	for len(b) > 0 && len(parts) < n {
		length, size := binary.Uvarint(b)
		if size <= 0 || length > uint64(len(b)-size) {
			return nil, Invalid()
		}
		parts = append(parts, string(b[size:size+int(length)]))
		b = b[size+int(length):]
	}
	// Each place has exactly one encoding. This refuses line breaks, stray bits and lengths that
	// are encoded too long.
	if len(parts) != n || len(parts) == 0 || Encode(parts...) != s {
		return nil, Invalid()
	}
	return parts, nil
}

// Invalid returns 400 invalid_parameter for a cursor that this list didn't return.
func Invalid() error {
	return problem.InvalidParameter("cursor", "must be a nextCursor that this list returned, unchanged, with the same filters; leave it out to start at the first page")
}

// Time encodes a time as a part, to the microsecond; see ParseTime.
func Time(at time.Time) string { return strconv.FormatInt(at.UnixMicro(), 10) }

// ParseTime decodes a part made by Time. It returns Invalid for a time outside the years 1970 to
// 9999, because no row holds such a time and Postgres doesn't support every year.
func ParseTime(part string) (time.Time, error) {
	micros, err := strconv.ParseInt(part, 10, 64)
	if err != nil {
		return time.Time{}, Invalid()
	}
	at := time.UnixMicro(micros).UTC()
	if at.Year() < 1970 || at.Year() > 9999 {
		return time.Time{}, Invalid()
	}
	return at, nil
}
