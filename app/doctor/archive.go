package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
)

// archive checks that the archive can be written.
func (d *doctor) archive(ctx context.Context) {
	storage, err := archive.OpenStorage(d.cfg.ArchiveURL)
	if err != nil {
		d.say(fail, "archive", "ARCHIVE_URL: %v", err)
		return
	}
	if storage == nil {
		d.say(warn, "archive", "off: prices older than two days are thinned, and old news is deleted. Set ARCHIVE_URL to keep everything")
		return
	}
	d.tryArchive(ctx, storage)
	if _, embedded := d.cfg.SQLitePath(); !embedded && strings.HasPrefix(d.cfg.ArchiveURL, "file://") {
		d.say(warn, "archive", "%s is a folder: with several nodes share it between them, or set ARCHIVE_URL to a bucket", d.cfg.ArchiveURL)
	}
}

// tryArchive says whether an archive can be written. It waits for an answer in another goroutine, because a call to a
// folder on a lost disk never returns.
func (d *doctor) tryArchive(ctx context.Context, storage archive.Writable) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	type answer struct {
		verdict verdict
		text    string
	}
	answered := make(chan answer, 1)
	go func() {
		v, text := d.writeArchive(ctx, storage)
		answered <- answer{v, text}
	}()
	var a answer
	select {
	case a = <-answered:
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		d.say(fail, "archive", "%s doesn't answer within %s: check the disk or the network of ARCHIVE_URL. "+
			"Until it answers, observations wait in the database and nothing is pruned", d.cfg.ArchiveURL, checkTimeout)
		return
	}
	if err := ctx.Err(); err != nil {
		d.say(fail, "archive", "not checked: %v", err)
		return
	}
	d.say(a.verdict, "archive", "%s", a.text)
	if a.verdict == fine && d.cfg.RedditClientID == "" {
		d.say(warn, "archive", "without REDDIT_CLIENT_ID, archived Reddit posts can't be checked for deletion")
	}
}

// writeArchive writes a small object to the archive and deletes it. It doesn't create the folder of an archive.
func (d *doctor) writeArchive(ctx context.Context, storage archive.Writable) (v verdict, text string) {
	if folder, local := strings.CutPrefix(d.cfg.ArchiveURL, "file://"); local {
		if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
			if parent := nearest(filepath.Clean(folder)); syscall.Access(parent, accessWrite) != nil {
				return fail, fmt.Sprintf("%s does not exist and can't be created: let this user write to %s, or change ARCHIVE_URL", folder, parent)
			}
			return fine, folder + " does not exist yet: the worker creates it"
		}
	}
	if err := archive.Probe(ctx, storage); err != nil {
		return fail, fmt.Sprintf("%v: check ARCHIVE_URL and its free space. Until it can be written, observations wait in the database and nothing is pruned", err)
	}
	return fine, d.cfg.ArchiveURL + " can be written"
}

// sealed reports the state of the archive.
func (d *doctor) sealed(ctx context.Context, db *database.DB) {
	if d.cfg.ArchiveURL == archive.Off {
		return
	}
	st, err := archive.ReadStatus(ctx, db)
	switch {
	case err != nil:
		d.say(warn, "archive", "can't read its state: %v", err)
	case st.Failures > 0:
		d.say(warn, "archive", "%s. The latest %d runs of the job failed. The last error is: %s", st.Warning(time.Now()), st.Failures, st.Error)
	case st.Troubled(time.Now()):
		d.say(warn, "archive", "%s", st.Warning(time.Now()))
	case st.LastSealed != "":
		d.say(fine, "archive", "sealed up to %s; %d segments wait for the next days", st.LastSealed, st.Waiting)
	}
}
