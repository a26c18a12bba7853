package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/news"
)

// FindPosts has the signature of source.PostSource's Posts.
type FindPosts func(ctx context.Context, ids []string) (there, deleted []string, err error)

const (
	// lookedAgainAfter is the time between two checks of a post. The texts of a deleted post are
	// erased soon after the next check, within the 48 hours that Reddit's terms are said to allow.
	lookedAgainAfter = 20 * time.Hour
	// missedFor is how long a post must be missing from answers before it counts as deleted, so
	// that one short answer erases nothing. missedEmptyFor applies if an answer has no post at all.
	// It is longer, because such an answer is probably a fault of the source.
	missedFor      = time.Hour
	missedEmptyFor = 24 * time.Hour
	// postsPerCall is how many posts one call asks for. callsPerRun is how many calls one run of
	// the job makes to each source. Reddit allows a hundred calls a minute.
	postsPerCall = 100
	callsPerRun  = 150
)

// post is an archived post whose existence is checked at its source.
type post struct {
	bun.BaseModel `bun:"table:archive_posts,alias:p"`

	ID           string `bun:",pk"`
	Source       string
	FirstDay     string
	LastDay      string
	CheckedAt    time.Time
	MissingSince time.Time `bun:",nullzero"`
}

// postsOf returns the posts whose texts a day contains.
func postsOf(ctx context.Context, d *Day, now time.Time) ([]*post, error) {
	found := map[string]*post{}
	for row, err := range Rows[NewsRow](ctx, d, News) {
		if err != nil {
			return nil, err
		}
		if row.Sample || row.Texts == nil || found[row.Item] != nil {
			continue
		}
		found[row.Item] = &post{
			ID: row.Item, Source: row.Source, FirstDay: d.Manifest.Day, LastDay: d.Manifest.Day, CheckedAt: database.Stored(now),
		}
	}
	return slices.Collect(maps.Values(found)), nil
}

// HasPost reports whether a sealed day holds, or held, the texts of a post. A post of a day that isn't
// sealed yet is not found.
func HasPost(ctx context.Context, db bun.IDB, id string) (bool, error) {
	var found []int64
	err := db.NewRaw("SELECT 1 FROM archive_posts WHERE id = ? UNION ALL SELECT 1 FROM redaction_requests WHERE kind = ? AND record = ?",
		id, News, id).Scan(ctx, &found)
	if err != nil {
		return false, fmt.Errorf("look for an archived post: %w", err)
	}
	return len(found) > 0, nil
}

// addPosts records posts whose texts a sealed day contains.
func addPosts(ctx context.Context, tx bun.Tx, list []*post) error {
	for part := range slices.Chunk(list, 500) {
		_, err := tx.NewInsert().Model(&part).On("CONFLICT (id) DO UPDATE").Set("last_day = EXCLUDED.last_day").Exec(ctx)
		if err != nil {
			return fmt.Errorf("note archived posts: %w", err)
		}
	}
	return nil
}

// lookForPosts asks the sources about the posts that weren't checked lately. An error of one source
// doesn't stop the calls to the others.
func (s *Sealer) lookForPosts(ctx context.Context) error {
	var failed []error
	for _, name := range slices.Sorted(maps.Keys(s.Posts)) {
		for range callsPerRun {
			more, err := s.lookForSome(ctx, name)
			if err != nil {
				failed = append(failed, fmt.Errorf("look for archived posts: %s: %w", name, err))
			}
			if err != nil || !more {
				break
			}
		}
	}
	return errors.Join(failed...)
}

// lookForSome makes one call to a source. more reports whether more posts are due.
func (s *Sealer) lookForSome(ctx context.Context, source string) (more bool, err error) {
	now := database.Stored(s.Now())
	var due []post
	err = s.DB.Reader.NewSelect().Model(&due).Where("source = ?", source).
		Where("checked_at <= ?", now.Add(-lookedAgainAfter)).
		WhereOr("source = ? AND missing_since IS NOT NULL AND checked_at <= ?", source, now.Add(-missedFor)).
		OrderExpr("checked_at, id").Limit(postsPerCall).Scan(ctx)
	if err != nil || len(due) == 0 {
		return false, err
	}
	ids := make([]string, len(due))
	for i := range due {
		ids[i] = due[i].ID
	}
	there, deleted, err := s.Posts[source](ctx, ids)
	if err != nil {
		return false, err
	}
	return len(due) == postsPerCall, s.keepLook(ctx, due, there, deleted, now)
}

// keepLook stores a source's answer about posts.
func (s *Sealer) keepLook(ctx context.Context, due []post, there, deleted []string, now time.Time) error {
	var gone, present, missing []string
	var requests []Request
	patience := missedFor
	if len(there)+len(deleted) == 0 {
		patience = missedEmptyFor
	}
	for i := range due {
		p := &due[i]
		erase := slices.Contains(deleted, p.ID)
		switch {
		case erase:
		case slices.Contains(there, p.ID):
			present = append(present, p.ID)
		case !p.MissingSince.IsZero() && now.Sub(p.MissingSince) >= patience:
			erase = true
		default:
			missing = append(missing, p.ID)
		}
		if erase {
			gone = append(gone, p.ID)
			requests = append(requests, Request{Table: News, Record: p.ID, Reason: Deleted, First: p.FirstDay, Last: p.LastDay})
		}
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := RequestRedaction(ctx, tx, now, true, requests...); err != nil {
			return err
		}
		if err := (news.Store{}).Erase(ctx, tx, gone); err != nil {
			return err
		}
		if len(gone) > 0 { // no kept copy may show them
			if err := generation.Move(ctx, tx, generation.Texts); err != nil {
				return err
			}
		}
		err := changePosts(gone, func() (sql.Result, error) {
			return tx.NewDelete().Model((*post)(nil)).Where("id IN ?", bun.Tuple(gone)).Exec(ctx)
		})
		if err != nil {
			return err
		}
		err = changePosts(present, func() (sql.Result, error) {
			return tx.NewUpdate().Model((*post)(nil)).Set("checked_at = ?, missing_since = NULL", now).
				Where("id IN ?", bun.Tuple(present)).Exec(ctx)
		})
		if err != nil {
			return err
		}
		return changePosts(missing, func() (sql.Result, error) {
			return tx.NewUpdate().Model((*post)(nil)).Set("checked_at = ?, missing_since = COALESCE(missing_since, ?)", now, now).
				Where("id IN ?", bun.Tuple(missing)).Exec(ctx)
		})
	})
}

// changePosts calls change if there are any posts to change.
func changePosts(ids []string, change func() (sql.Result, error)) error {
	if len(ids) == 0 {
		return nil
	}
	if _, err := change(); err != nil {
		return fmt.Errorf("store the state of archived posts: %w", err)
	}
	return nil
}
