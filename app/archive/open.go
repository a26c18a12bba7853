package archive

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Off is the address that turns the archive off.
const Off = "off"

// ErrAddress is the error of an invalid archive address.
var ErrAddress = errors.New("must be file://PATH, s3://bucket/prefix or off")

// OpenStorage returns the archive at an address: file://PATH (relative to the working directory if
// PATH has no leading slash), s3://bucket/prefix, or nil for "off". It doesn't access the archive;
// Probe does.
func OpenStorage(address string) (Writable, error) {
	switch {
	case address == Off:
		return nil, nil
	case strings.HasPrefix(address, "file://") && len(address) > len("file://"):
		return OpenFolder(strings.TrimPrefix(address, "file://")), nil
	case strings.HasPrefix(address, "s3://"):
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.RawQuery != "" || u.User != nil {
			return nil, ErrAddress
		}
		return openBucket(u.Host, strings.Trim(u.Path, "/"))
	}
	return nil, ErrAddress
}

// probeName is the object that Probe writes and deletes.
const probeName = "probe"

// Probe checks that an archive can be written.
func Probe(ctx context.Context, s Writable) error {
	if err := put(ctx, s, probeName, []byte("Pulsecast writes here.\n")); err != nil {
		return fmt.Errorf("write to the archive: %w", err)
	}
	if err := s.Delete(ctx, probeName); err != nil {
		return fmt.Errorf("delete from the archive: %w", err)
	}
	return nil
}
