package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/pulsecast/pulsecast/app/archive"
)

// Open opens an archive or a data release for reading. address is a folder, file://PATH, s3://bucket/prefix, or the
// http(s):// address of an installation. Call done when it is no longer needed.
func Open(ctx context.Context, address string) (s archive.Storage, done func() error, err error) {
	if strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://") {
		remote, err := OpenURL(ctx, address)
		if err != nil {
			return nil, nil, err
		}
		return remote, remote.Close, nil
	}
	if !strings.Contains(address, "://") {
		address = "file://" + address
	}
	if path, ok := strings.CutPrefix(address, "file://"); ok {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			return nil, nil, fmt.Errorf("there is no folder %s; an installation creates it when it seals its first day", path)
		}
	}
	s, err = archive.OpenStorage(address)
	if errors.Is(err, archive.ErrAddress) {
		err = fmt.Errorf("%q is not the address of an archive; use a folder, file://PATH, s3://bucket/prefix or the address of an installation", address)
	}
	return s, func() error { return nil }, err
}
