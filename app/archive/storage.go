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

// Storage is where an archive lies: a folder, a bucket, or another installation's data release.
// Names are relative and use slashes. A name that doesn't exist is fs.ErrNotExist.
type Storage interface {
	// Open opens an object for reading at any place.
	Open(ctx context.Context, name string) (Object, error)
	// List returns the objects whose names begin with prefix, by name.
	List(ctx context.Context, prefix string) ([]Info, error)
}

// Writable is a Storage that can be written.
type Writable interface {
	Storage
	// Put stores an object whole or not at all, and replaces one of that name.
	Put(ctx context.Context, name string, content io.Reader, size int64) error
	// PutNew is Put, but for an object of that name it returns ErrExist and changes nothing.
	PutNew(ctx context.Context, name string, content io.Reader, size int64) error
	// Delete removes an object; one that is not there is no error.
	Delete(ctx context.Context, name string) error
}

// Object is an open object. Close it.
type Object interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Info describes an object.
type Info struct {
	Name     string
	Size     int64
	Modified time.Time
}

// The errors of a name that doesn't exist, and of one that must not exist yet.
var (
	ErrNotExist = fs.ErrNotExist
	ErrExist    = fs.ErrExist
)

// FirstDay returns the first day that a storage holds, "" for none.
func FirstDay(ctx context.Context, s Storage) (string, error) {
	days, err := StoredDays(ctx, s)
	if err != nil || len(days) == 0 {
		return "", err
	}
	return days[0], nil
}

// StoredDays lists the sealed days that a storage holds, the oldest first.
func StoredDays(ctx context.Context, s Storage) (days []string, err error) {
	list, err := s.List(ctx, "days/")
	if err != nil {
		return nil, fmt.Errorf("list the archive: %w", err)
	}
	for _, o := range list {
		if day, ok := strings.CutSuffix(strings.TrimPrefix(o.Name, "days/"), "/"+ManifestName); ok {
			if _, _, err := bounds(day); err == nil {
				days = append(days, day)
			}
		}
	}
	slices.Sort(days)
	return days, nil
}
