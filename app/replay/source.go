package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/release"
)

// OpenArchive is release.Open for ARCHIVE_URL. Files from a bucket or an installation are cached in the folder cache.
func OpenArchive(ctx context.Context, address, cache string) (s archive.Storage, done func() error, err error) {
	s, done, err = release.Open(ctx, address)
	if err != nil {
		return nil, nil, fmt.Errorf("ARCHIVE_URL: %w", err)
	}
	if _, local := s.(*archive.Folder); !local {
		s = &kept{s, archive.OpenFolder(cache + "/" + archive.Hash([]byte(address))[:16])}
	}
	return s, done, nil
}

// kept is a remote archive with its own folder that caches its files. Sealed files don't change, except
// for texts, which are not cached.
type kept struct {
	archive.Storage
	folder *archive.Folder
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
