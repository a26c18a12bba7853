package archive_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// stuck is a folder whose calls hang until release is closed, and then go on. Like calls of the system, they don't end
// with their context.
type stuck struct {
	*archive.Folder
	release chan struct{}
	only    string // the object of which the first Put hangs; "" if all calls hang
	written bool   // a Put hangs after it has written all content
	// If only is set, hung is closed when the Put begins to hang, and ended when it has returned.
	hung  chan time.Time
	ended chan struct{}
}

func (s *stuck) wait(name string) {
	switch s.only {
	case "":
		<-s.release
	case name:
		close(s.hung)
		<-s.release
	}
}

func (s *stuck) Open(ctx context.Context, name string) (archive.Object, error) {
	s.wait(name)
	return s.Folder.Open(ctx, name)
}

func (s *stuck) List(ctx context.Context, prefix string) ([]archive.Info, error) {
	s.wait(prefix)
	return s.Folder.List(ctx, prefix)
}

func (s *stuck) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	if s.only == name {
		defer close(s.ended)
	}
	if s.written {
		return s.Folder.Put(ctx, name, endless{content, func() { s.wait(name) }}, size)
	}
	s.wait(name)
	return s.Folder.Put(ctx, name, content, size)
}

func (s *stuck) PutNew(ctx context.Context, name string, content io.Reader, size int64) error {
	s.wait(name)
	return s.Folder.PutNew(ctx, name, content, size)
}

func (s *stuck) Delete(ctx context.Context, name string) error {
	s.wait(name)
	return s.Folder.Delete(ctx, name)
}

func (s *stuck) RemoveUnfinished(ctx context.Context, prefix string) error {
	s.wait(prefix)
	return s.Folder.RemoveUnfinished(ctx, prefix)
}

// endless calls wait before it says that the content has ended.
type endless struct {
	io.Reader
	wait func()
}

func (e endless) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		e.wait()
	}
	return n, err
}

// TestWatch checks each call of an archive that doesn't answer: how long the job waits, and that the call changes
// nothing when it goes on later.
func TestWatch(t *testing.T) {
	t.Parallel()
	calls := map[string]func(ctx context.Context, s archive.Writable) error{
		"opening days/a": func(ctx context.Context, s archive.Writable) error {
			o, err := s.Open(ctx, "days/a")
			if err == nil {
				err = o.Close()
			}
			return err
		},
		"listing days/": func(ctx context.Context, s archive.Writable) error {
			_, err := s.List(ctx, "days/")
			return err
		},
		"writing days/a": func(ctx context.Context, s archive.Writable) error {
			return s.Put(ctx, "days/a", strings.NewReader("new"), 3)
		},
		"writing days/b": func(ctx context.Context, s archive.Writable) error {
			return s.PutNew(ctx, "days/b", strings.NewReader("new"), 3)
		},
		"deleting days/a": func(ctx context.Context, s archive.Writable) error { return s.Delete(ctx, "days/a") },
		"removing unfinished files": func(ctx context.Context, s archive.Writable) error {
			return s.(interface {
				RemoveUnfinished(ctx context.Context, prefix string) error
			}).RemoveUnfinished(ctx, "days/")
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				root := t.TempDir()
				s := &stuck{Folder: archive.OpenFolder(root), release: make(chan struct{})}
				if err := s.Folder.Put(t.Context(), "days/a", strings.NewReader("old"), 3); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, "days", "c.1.part"), []byte("begun"), 0o644); err != nil {
					t.Fatal(err)
				}
				before := filesIn(t, root)
				w := archive.Watch(s)
				fails := func(ctx context.Context, want error, after time.Duration) {
					t.Helper()
					start := time.Now()
					if err := call(ctx, w); !errors.Is(err, want) || time.Since(start) != after {
						t.Errorf("got %v after %s, want %v after %s", err, time.Since(start), want, after)
					} else if silence, ok := errors.AsType[*archive.Silence](err); ok != errors.Is(want, archive.ErrSilent) || ok && silence.Call != name {
						t.Errorf("got %v, want it to name the call", err)
					}
				}
				fails(t.Context(), archive.ErrSilent, 5*time.Minute)
				fails(t.Context(), archive.ErrSilent, 0)
				time.Sleep(time.Minute)
				stopping, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				fails(stopping, context.Canceled, time.Second)
				fails(t.Context(), archive.ErrSilent, 5*time.Minute)
				close(s.release)
				synctest.Wait()
				sameFiles(t, before, filesIn(t, root))
				time.Sleep(time.Minute)
				if err := call(t.Context(), w); err != nil {
					t.Errorf("the archive answers again: %v", err)
				}
				synctest.Wait()
			})
		})
	}
}

// filesIn returns the files below a folder by their paths.
func filesIn(t *testing.T, root string) map[string]fs.FileInfo {
	t.Helper()
	files := map[string]fs.FileInfo{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[path], err = d.Info()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// sameFiles checks that no file was added, removed or replaced.
func sameFiles(t *testing.T, before, after map[string]fs.FileInfo) {
	t.Helper()
	for path, was := range before {
		if is := after[path]; is == nil || !os.SameFile(was, is) {
			t.Errorf("%s was replaced or removed", path)
		}
	}
	for path := range after {
		if before[path] == nil {
			t.Errorf("%s was added", path)
		}
	}
}

// slow is an archive of which every call takes a while.
type slow struct {
	archive.Writable
	takes time.Duration
}

func (s slow) Put(context.Context, string, io.Reader, int64) error {
	time.Sleep(s.takes)
	return nil
}

func (s slow) Open(context.Context, string) (archive.Object, error) { return s, nil }

func (s slow) ReadAt(p []byte, _ int64) (int, error) {
	time.Sleep(s.takes)
	return copy(p, "new"), io.EOF
}

func (slow) Size() int64     { return 3 }
func (slow) Version() string { return "" }
func (slow) Close() error    { return nil }

// TestWatchGivesLargeWritesTime checks that a large write may take longer than a small one.
func TestWatchGivesLargeWritesTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := archive.Watch(slow{takes: 14 * time.Minute})
		if err := w.Put(t.Context(), "x", nil, 60_000_000); err != nil {
			t.Errorf("a write of 60 MB: %v", err)
		}
		if err := w.Put(t.Context(), "x", nil, 1_000_000); !errors.Is(err, archive.ErrSilent) {
			t.Errorf("a write of 1 MB: %v", err)
		}
		time.Sleep(time.Hour) // until the second write has returned
	})
}

// TestWatchOfReads checks that a read which returns too late doesn't write into the memory of its caller.
func TestWatchOfReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for takes, want := range map[time.Duration]string{time.Minute: "new", time.Hour: "old"} {
			o, err := archive.Watch(slow{takes: takes}).Open(t.Context(), "x")
			if err != nil {
				t.Fatal(err)
			}
			p := []byte("old")
			n, err := o.ReadAt(p, 0)
			if late := want == "old"; late != errors.Is(err, archive.ErrSilent) || !late && (n != 3 || !errors.Is(err, io.EOF)) {
				t.Errorf("a read that takes %s: %d, %v", takes, n, err)
			}
			time.Sleep(2 * time.Hour)
			if string(p) != want {
				t.Errorf("a read that takes %s: the caller has %q, want %q", takes, p, want)
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
	})
}

// TestJobOnADiskThatHangs checks that a run ends although a call of the archive doesn't, that the status names the call,
// and that another node can seal the day. When the call goes on, it must not change the sealed day.
func TestJobOnADiskThatHangs(t *testing.T) {
	t.Parallel()
	const object = "days/2026-11-21/prices-polymarket.parquet"
	for _, kind := range dbtest.Kinds {
		for name, written := range map[string]bool{"before it writes": false, "before it renames": true} {
			t.Run(string(kind)+" "+name, func(t *testing.T) {
				t.Parallel()
				w, root := newWorld(t, kind), t.TempDir()
				s := &stuck{
					Folder: archive.OpenFolder(root), release: make(chan struct{}), only: object, written: written,
					hung: make(chan time.Time), ended: make(chan struct{}),
				}
				w.storage.Writable = s.Folder
				// The time of a call is over once it hangs.
				w.sealer.Storage = archive.WatchWith(s, func(time.Duration) (<-chan time.Time, func() bool) {
					return s.hung, func() bool { return true }
				})
				other := *w.sealer
				other.Storage = archive.Watch(s.Folder)

				w.readPlain()
				w.set(day.AddDate(0, 0, 1).Add(time.Hour))
				if err := w.tick(); !errors.Is(err, archive.ErrSilent) {
					t.Errorf("the run ended with %v", err)
				}
				st, err := archive.ReadStatus(t.Context(), w.db)
				if err != nil || st.Hangs != "writing "+object || st.Failures != 1 || !st.Troubled(w.now()) || st.LastSealed != "" {
					t.Errorf("status %+v, %v", st, err)
				}
				if _, begun := unfinishedIn(filesIn(t, root)); begun != written {
					t.Errorf("the hung call has begun a file: %t, want %t", begun, written)
				}

				if _, err := other.Tick(t.Context()); err != nil {
					t.Errorf("another node: %v", err)
				}
				sealed := filesIn(t, root)
				if path, left := unfinishedIn(sealed); left {
					t.Errorf("%s is left, so the hung call can still rename it", path)
				}
				close(s.release)
				<-s.ended
				sameFiles(t, sealed, filesIn(t, root))
				if found := w.check("2026-11-21"); len(found.Problems) > 0 || len(w.days()) != 1 {
					t.Errorf("problems %v, days %v", found.Problems, w.days())
				}

				w.readPlain()
				w.set(day.AddDate(0, 0, 2).Add(time.Hour))
				w.sealer.Storage = archive.Watch(s.Folder)
				w.mustTick() // the first node again
				st, err = archive.ReadStatus(t.Context(), w.db)
				if err != nil || st.Hangs != "" || st.Failures != 0 || st.LastSealed != "2026-11-22" {
					t.Errorf("status %+v, %v", st, err)
				}
			})
		}
	}
}

// unfinishedIn returns a temporary file among files.
func unfinishedIn(files map[string]fs.FileInfo) (path string, found bool) {
	for path := range files {
		if strings.HasSuffix(path, ".part") {
			return path, true
		}
	}
	return "", false
}
