package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
)

// archive writes a small object to the archive and deletes it.
func (d *doctor) archive(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	storage, err := archive.OpenStorage(d.cfg.ArchiveURL)
	if err != nil {
		d.say(fail, "archive", "ARCHIVE_URL: %v", err)
		return
	}
	if storage == nil {
		d.say(warn, "archive", "off: prices older than two days and old news are deleted for good; set ARCHIVE_URL to keep them")
		return
	}
	if folder, local := strings.CutPrefix(d.cfg.ArchiveURL, "file://"); local {
		if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
			if parent := nearest(filepath.Clean(folder)); syscall.Access(parent, accessWrite) != nil {
				d.say(fail, "archive", "%s is not there and cannot be made: let this user write to %s, or change ARCHIVE_URL", folder, parent)
			} else {
				d.say(fine, "archive", "%s is not there yet: the worker makes it", folder)
			}
			return
		}
	}
	if err := archive.Probe(ctx, storage); err != nil {
		d.say(fail, "archive", "%v: check ARCHIVE_URL and the room there; until it can be written observations wait in the database, and nothing is pruned", err)
		return
	}
	d.say(fine, "archive", "%s can be written", d.cfg.ArchiveURL)
	if d.cfg.RedditClientID == "" {
		d.say(warn, "archive", "without REDDIT_CLIENT_ID archived posts of Reddit can't be checked for deletion")
	}
}

// sealed says how the archive goes.
func (d *doctor) sealed(ctx context.Context, db *database.DB) {
	if d.cfg.ArchiveURL == archive.Off {
		return
	}
	st, err := archive.ReadStatus(ctx, db)
	switch {
	case err != nil:
		d.say(warn, "archive", "its state was not read: %v", err)
	case st.Failures > 0:
		d.say(warn, "archive", "the latest %d runs of the job failed, last with: %s", st.Failures, st.Error)
	case st.Troubled(time.Now()):
		d.say(warn, "archive", "%s ended and isn't sealed: is a worker running?", st.Oldest)
	case st.LastSealed != "":
		d.say(fine, "archive", "sealed up to %s; %d segments wait for the next days", st.LastSealed, st.Waiting)
	}
}
