package doctor

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/config"
)

// answering is an archive whose writes end as put does.
type answering struct {
	archive.Writable
	put func(ctx context.Context) error
}

func (a answering) Put(ctx context.Context, _ string, _ io.Reader, _ int64) error { return a.put(ctx) }
func (a answering) Delete(context.Context, string) error                          { return nil }

// TestArchiveThatDoesNotAnswer checks what the doctor says about an archive, and that it doesn't wait for a call that
// never returns.
func TestArchiveThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hung := make(chan struct{})
		for name, c := range map[string]struct {
			put    func(ctx context.Context) error
			want   string
			failed int
			within time.Duration
		}{
			"answers":           {func(context.Context) error { return nil }, "ok    archive        s3://bucket can be written\n", 0, 0},
			"refuses":           {func(context.Context) error { return errors.New("full") }, "fail  archive        write to the archive: probe: full: check", 1, 0},
			"hangs":             {func(context.Context) error { <-hung; return nil }, "fail  archive        s3://bucket doesn't answer within 8s: check the disk", 1, checkTimeout},
			"ends with context": {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, "fail  archive        s3://bucket doesn't answer within 8s: check the disk", 1, checkTimeout},
		} {
			var out bytes.Buffer
			d := &doctor{out: &out, cfg: config.Config{ArchiveURL: "s3://bucket", RedditClientID: "x"}}
			start := time.Now()
			d.tryArchive(t.Context(), answering{put: c.put})
			if took := time.Since(start); took != c.within || d.failed != c.failed || !strings.HasPrefix(out.String(), c.want) {
				t.Errorf("an archive that %s: after %s, %d failed, %q", name, took, d.failed, out.String())
			}
		}
		close(hung)
	})
}
