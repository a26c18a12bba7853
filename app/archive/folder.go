package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Folder is an archive in a local folder.
type Folder struct{ root string }

// OpenFolder returns the archive in a folder. The first Put creates the folder.
func OpenFolder(root string) *Folder { return &Folder{root} }

func (f *Folder) path(name string) string { return filepath.Join(f.root, filepath.FromSlash(name)) }

type openFile struct {
	*os.File
	info fs.FileInfo
}

func (o openFile) Size() int64 { return o.info.Size() }

// Version implements Object. Only two Puts of the same size within milliseconds give the same version.
func (o openFile) Version() string {
	return fmt.Sprintf("%d %d", o.info.Size(), o.info.ModTime().UnixNano())
}

// Open implements Storage.
func (f *Folder) Open(_ context.Context, name string) (Object, error) {
	file, err := os.Open(f.path(name))
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if info.IsDir() {
		return nil, errors.Join(fmt.Errorf("%s is a folder: %w", name, fs.ErrNotExist), file.Close())
	}
	return openFile{file, info}, nil
}

// List implements Storage.
func (f *Folder) List(_ context.Context, prefix string) ([]Info, error) {
	var list []Info
	err := f.walk(prefix, func(name string, d fs.DirEntry) error {
		if strings.HasSuffix(name, unfinished) {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		list = append(list, Info{Name: name, Size: info.Size(), Modified: info.ModTime()})
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return list, err
}

// RemoveUnfinished removes the temporary files whose names begin with prefix. A killed process leaves them, and List
// doesn't return them. A write that still goes on fails then.
func (f *Folder) RemoveUnfinished(ctx context.Context, prefix string) error {
	err := f.walk(prefix, func(name string, _ fs.DirEntry) error {
		if err := ctx.Err(); err != nil || !strings.HasSuffix(name, unfinished) {
			return err
		}
		return f.Delete(ctx, name) // another node may just have placed or removed it
	})
	if errors.Is(err, fs.ErrNotExist) { // or another node has just removed a folder
		return nil
	}
	return err
}

// walk calls visit with each file whose name begins with prefix.
func (f *Folder) walk(prefix string, visit func(name string, d fs.DirEntry) error) error {
	return filepath.WalkDir(f.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(f.root, path)
		if err != nil {
			return err
		}
		if name = filepath.ToSlash(name); !strings.HasPrefix(name, prefix) {
			return nil
		}
		return visit(name, d)
	})
}

// unfinished is the suffix of a file that is being written.
const unfinished = ".part"

// Put implements Writable. It writes a temporary file beside the target, syncs it and renames it.
func (f *Folder) Put(ctx context.Context, name string, content io.Reader, _ int64) error {
	return f.write(ctx, name, content, os.Rename)
}

// PutNew implements Writable. It uses a hard link, which fails if the name exists.
func (f *Folder) PutNew(ctx context.Context, name string, content io.Reader, _ int64) error {
	return f.write(ctx, name, content, os.Link)
}

// write writes a temporary file beside the target, syncs it and calls place to give it its name. It doesn't call place
// once ctx has ended: the disk may have hung until then, and another node may have written the target.
func (f *Folder) write(ctx context.Context, name string, content io.Reader, place func(from, to string) error) (err error) {
	path := f.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+unfinished)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close(), ctx.Err()); err == nil {
		err = place(file.Name(), path)
	}
	if left := os.Remove(file.Name()); !errors.Is(left, fs.ErrNotExist) { // a rename leaves none
		err = errors.Join(err, left)
	}
	if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes a rename in a folder durable.
func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Delete implements Writable.
func (f *Folder) Delete(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.Remove(f.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
