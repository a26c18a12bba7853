package archive

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Storage is the place of an archive: a folder, a bucket, or another installation's data release.
// Names are relative and use slashes. Opening a name that doesn't exist returns an error that
// matches ErrNotExist.
type Storage interface {
	// Open opens an object for random access.
	Open(ctx context.Context, name string) (Object, error)
	// List returns the objects whose names begin with prefix, ordered by name.
	List(ctx context.Context, prefix string) ([]Info, error)
}

// Writable is a Storage that can be written.
type Writable interface {
	Storage
	// Put stores an object. It is atomic, and replaces an object of the same name.
	Put(ctx context.Context, name string, content io.Reader, size int64) error
	// PutNew is like Put, but returns ErrExist and changes nothing if the object exists.
	PutNew(ctx context.Context, name string, content io.Reader, size int64) error
	// Delete removes an object. Deleting a missing object is not an error.
	Delete(ctx context.Context, name string) error
}

// Object is an open object. The caller closes it.
type Object interface {
	io.ReaderAt
	io.Closer
	Size() int64
	// Version is another text once an object of the same name has other content. It is empty if the storage doesn't know.
	Version() string
}

// Info describes an object.
type Info struct {
	Name     string
	Size     int64
	Modified time.Time
}

// The errors for a missing object, and for an object that exists already.
var (
	ErrNotExist = fs.ErrNotExist
	ErrExist    = fs.ErrExist
)

// FirstDay returns the first day in a storage, or "" if there is none.
func FirstDay(ctx context.Context, s Storage) (string, error) {
	days, err := StoredDays(ctx, s)
	if err != nil || len(days) == 0 {
		return "", err
	}
	return days[0], nil
}

// StoredDays lists the sealed days in a storage, oldest first.
func StoredDays(ctx context.Context, s Storage) (days []string, err error) {
	list, err := s.List(ctx, "days/")
	if err != nil {
		return nil, fmt.Errorf("list the archive: %w", err)
	}
	for _, o := range list {
		if day, ok := strings.CutSuffix(strings.TrimPrefix(o.Name, "days/"), "/"+ManifestName); ok {
			if _, _, err := Bounds(day); err == nil {
				days = append(days, day)
			}
		}
	}
	slices.Sort(days)
	return days, nil
}
