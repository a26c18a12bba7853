package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/release"
)

// OpenArchive opens an archive for reading. address is a folder, file://PATH, s3://bucket/prefix,
// or the http(s):// address of an installation that publishes its archive. Files from a bucket or
// an installation are cached in the folder cache. Call done when the archive is no longer needed.
func OpenArchive(ctx context.Context, address, cache string) (s archive.Storage, done func() error, err error) {
	if strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://") {
		remote, err := release.OpenURL(ctx, address)
		if err != nil {
			return nil, nil, fmt.Errorf("ARCHIVE_URL: %w", err)
		}
		return keep(remote, cache, address), remote.Close, nil
	}
	s, err = openArchive(address, cache)
	return s, func() error { return nil }, err
}

func openArchive(address, cache string) (archive.Storage, error) {
	if !strings.Contains(address, "://") {
		address = "file://" + address
	}
	if path, ok := strings.CutPrefix(address, "file://"); ok {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("ARCHIVE_URL: there is no folder %s; an installation creates it when it seals its first day", path)
		}
	}
	s, err := archive.OpenStorage(address)
	if err != nil || s == nil {
		return nil, fmt.Errorf("ARCHIVE_URL: %q is not the address of an archive; use a folder, file://PATH, s3://bucket/prefix or the address of an installation", address)
	}
	if strings.HasPrefix(address, "s3://") {
		return keep(s, cache, address), nil
	}
	return s, nil
}

// kept is a remote archive with a folder that caches its files. Sealed files don't change, except
// for texts, which are not cached.
type kept struct {
	archive.Storage
	folder *archive.Folder
}

// keep caches the files of an archive in its own folder below cache.
func keep(s archive.Storage, cache, address string) archive.Storage {
	return &kept{s, archive.OpenFolder(cache + "/" + archive.Hash([]byte(address))[:16])}
}

// Open implements archive.Storage.
func (k *kept) Open(ctx context.Context, name string) (archive.Object, error) {
	if !strings.HasPrefix(name, "days/") || strings.Contains(name, "/texts/") || !strings.HasSuffix(name, ".parquet") {
		return k.Storage.Open(ctx, name)
	}
	o, err := k.folder.Open(ctx, name)
	if !errors.Is(err, archive.ErrNotExist) {
		return o, err
	}
	if err := k.fetch(ctx, name); err != nil {
		return nil, err
	}
	return k.folder.Open(ctx, name)
}

func (k *kept) fetch(ctx context.Context, name string) (err error) {
	o, err := k.Storage.Open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	return k.folder.Put(ctx, name, io.NewSectionReader(o, 0, o.Size()), o.Size())
}
