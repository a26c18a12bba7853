package replay

import (
	"fmt"
	"os"
	"strings"

	"github.com/pulsecast/pulsecast/app/archive"
)

// OpenArchive opens an archive for reading: a folder, file://PATH, s3://bucket/prefix, or
// http(s):// for the data releases of another installation, whose days are kept in the folder cache.
func OpenArchive(address, cache string) (archive.Storage, error) {
	if !strings.Contains(address, "://") {
		address = "file://" + address
	}
	if path, ok := strings.CutPrefix(address, "file://"); ok {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("ARCHIVE_URL: there is no folder %s; an installation makes it when it seals its first day", path)
		}
	}
	s, err := archive.OpenStorage(address)
	if err != nil || s == nil {
		return nil, fmt.Errorf("ARCHIVE_URL: %q names no archive: give a folder, file://PATH, s3://bucket/prefix or the address of an installation", address)
	}
	return s, nil
}
