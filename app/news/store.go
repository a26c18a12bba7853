package news

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/problem"
)

const chunk = 200

// KeptFor is how long an item is kept after it was last observed, unless evidence cites it.
const KeptFor = 90 * 24 * time.Hour

// Store reads and writes news items.
type Store struct{}

// Observe stores one reading of a source. An unknown score doesn't replace a known one; the same post may also
// come from an Atom feed, which has none. A live item replaces a sample with the same id, and a sample never
// replaces a live item. An older reading changes nothing, unless the stored one is from a clock that was ahead (see
// database.LatestPlausible). An erased item stays erased.
//
// The present is the newest time in the reading, as in a replay. If the reading may have waited since then, use
// ObserveAt.
func (s Store) Observe(ctx context.Context, db bun.IDB, items []Item) error {
	if len(items) == 0 {
		return nil
	}
	newest := slices.MaxFunc(items, func(a, b Item) int { return a.ObservedAt.Compare(b.ObservedAt) })
	return s.ObserveAt(ctx, db, items, newest.ObservedAt)
}

// ObserveAt stores one reading at the time now, by the rules of Observe.
func (Store) ObserveAt(ctx context.Context, db bun.IDB, items []Item, now time.Time) error {
	for part := range slices.Chunk(prepared(items), chunk) {
		q := db.NewInsert().Model(&part).On("CONFLICT (id) DO UPDATE")
		for _, column := range []string{"source", "community", "title", "title_search_text", "url", "permalink", "author", "posted_at", "self_post", "position", "observed_at", "sample"} {
			q = q.Set("? = EXCLUDED.?", bun.Ident(column), bun.Ident(column))
		}
		for _, column := range []string{"summary", "flair", "thumbnail"} {
			c := bun.Ident(column)
			q = q.Set("? = CASE WHEN n.sample THEN EXCLUDED.? ELSE COALESCE(EXCLUDED.?, n.?) END", c, c, c, c)
		}
		q = q.Set(`summary_search_text = CASE WHEN n.sample OR EXCLUDED.summary IS NOT NULL
			THEN EXCLUDED.summary_search_text ELSE n.summary_search_text END`)
		for _, column := range []string{"score", "comments", "score_known"} {
			c := bun.Ident(column)
			q = q.Set("? = CASE WHEN n.sample OR EXCLUDED.score_known THEN EXCLUDED.? ELSE n.? END", c, c, c)
		}
		_, err := q.Where("NOT n.erased").
			Where("n.sample OR (NOT EXCLUDED.sample AND (EXCLUDED.observed_at >= n.observed_at OR n.observed_at > ?))",
				database.LatestPlausible(now)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("store news: %w", err)
		}
	}
	return nil
}

// prepared returns the first item with each id, ready to be stored and ordered by id.
func prepared(items []Item) []Item {
	seen := make(map[string]bool, len(items))
	out := make([]Item, 0, len(items))
	for _, item := range items {
		if seen[item.ID] {
			continue
		}
		seen[item.ID] = true
		item.ObservedAt = database.Stored(item.ObservedAt)
		item.PostedAt = database.Stored(item.PostedAt)
		item.TitleSearchText, item.SummarySearchText = plaintext.Fold(item.Title), plaintext.Fold(item.Summary)
		out = append(out, item)
	}
	slices.SortFunc(out, func(a, b Item) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// ByID returns one item. found is false if the id is unknown or the item was erased.
func (Store) ByID(ctx context.Context, db bun.IDB, id string) (item *Item, found bool, err error) {
	item = new(Item)
	err = db.NewSelect().Model(item).Where("n.id = ?", id).Where("NOT n.erased").Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read news item: %w", err)
	}
	item.utc()
	return item, true, nil
}

// Shown returns the items of a reading as the service shows them: as they are stored, so with facts that an earlier
// reading had and this one leaves out. It leaves out erased items. An item that isn't stored yet, or only as an older
// reading had it, is returned as given.
func (Store) Shown(ctx context.Context, db bun.IDB, items []Item) ([]Item, error) {
	stored := make(map[string]*Item, len(items))
	for part := range slices.Chunk(items, chunk) {
		ids := make([]string, len(part))
		for i := range part {
			ids[i] = part[i].ID
		}
		found := make([]Item, 0, len(part))
		planned := database.NewPlanned(db)
		if err := planned.Scan(ctx, planned.In(db.NewSelect().Model((*Item)(nil)), "n.id", ids), &found); err != nil {
			return nil, fmt.Errorf("read the news of a reading: %w", err)
		}
		for i := range found {
			found[i].utc()
			stored[found[i].ID] = &found[i]
		}
	}
	out := make([]Item, 0, len(items))
	for _, item := range items {
		switch was := stored[item.ID]; {
		case was == nil:
			out = append(out, item)
		case was.Erased:
		case was.ObservedAt.Before(item.ObservedAt):
			out = append(out, item)
		default:
			out = append(out, *was)
		}
	}
	return out, nil
}

// Found is an item found by its address.
type Found struct {
	ID    string
	Cited bool // a prediction cites it
}

// ByURLs maps addresses to the items that link to them or have their discussion there, in found, ignoring a slash at the
// end. If there are several items, the newest is taken. Other addresses are left out.
func (Store) ByURLs(urls []string, found map[string]Found) database.Read {
	type address struct {
		Bare string `bun:",type:text"`
	}
	var list []address
	seen := map[string]bool{}
	for _, u := range urls {
		if bare := strings.TrimRight(u, "/"); bare != "" && !seen[bare] {
			seen[bare] = true
			list = append(list, address{bare})
		}
	}
	type row struct {
		Bare string
		Found
	}
	// Postgres would run the subquery once for each use of its result, if the result weren't MATERIALIZED.
	return database.NewRead("match the addresses of news", `, found AS MATERIALIZED (SELECT v.bare, (SELECT n.id FROM news_items AS n
			WHERE n.url IN (v.bare, v.bare || '/') OR n.permalink IN (v.bare, v.bare || '/')
			ORDER BY n.sample, n.posted_at DESC, n.id LIMIT 1) AS id FROM v)
		SELECT found.bare, n.id, n.cited FROM found JOIN news_items AS n ON n.id = found.id`, list, func(rows []row) {
		best := make(map[string]Found, len(rows))
		for _, r := range rows {
			best[r.Bare] = r.Found
		}
		for _, u := range urls {
			if item, ok := best[strings.TrimRight(u, "/")]; ok {
				found[u] = item
			}
		}
	})
}

// Filter narrows a list of items. A zero field doesn't filter.
type Filter struct {
	Community string
	Q         string // at most plaintext.MaxWords words that must all begin a word of the title or summary
	Live      bool   // leave out samples
	Cursor    string // the next that List returned for the previous page
	Limit     int    // at least 1
}

// searched is how many items a page looks at when it searches for words.
const searched = 1000

// List returns one page of items, newest first, and the cursor of the next page, which is empty on the last.
// With Q, a page looks at no more than 1,000 items. It may then hold fewer than Limit, or none, although there
// is a next page. Too many words and a bad cursor are 400 invalid_parameter.
func (Store) List(ctx context.Context, db bun.IDB, f Filter) (page []Item, next string, err error) {
	if plaintext.Wordless(f.Q) {
		return nil, "", nil
	}
	q := db.NewSelect().Model((*Item)(nil)).Where("NOT n.erased").OrderExpr("n.posted_at DESC, n.id DESC")
	if f.Community != "" {
		q = q.Where("n.community = ?", f.Community)
	}
	if f.Live {
		q = q.Where("NOT n.sample")
	}
	if f.Cursor != "" {
		parts, err := cursor.Decode(f.Cursor, 2)
		if err != nil || plaintext.Check(parts[1], false) != "" {
			return nil, "", cursor.Invalid()
		}
		posted, err := cursor.ParseTime(parts[0])
		if err != nil {
			return nil, "", err
		}
		q = q.Where("(n.posted_at, n.id) < (?, ?)", posted, parts[1])
	}
	page, next, err = f.read(ctx, db, q)
	if err != nil {
		return nil, "", fmt.Errorf("list news: %w", err)
	}
	for i := range page {
		page[i].utc()
	}
	return page, next, nil
}

// read reads a page of q and returns the cursor of the next one. If the filter has words, the same statement finds the
// matches and the end of the window, because a tick between two statements would move the end.
func (f Filter) read(ctx context.Context, db bun.IDB, q *bun.SelectQuery) (page []Item, next string, err error) {
	after := func(last *Item) string { return cursor.Encode(cursor.Time(last.PostedAt), last.ID) }
	words, wrong := plaintext.Words(f.Q)
	if wrong != "" {
		return nil, "", problem.InvalidParameter("q", wrong)
	}
	if len(words) == 0 {
		if err := q.Limit(int64(f.Limit)+1).Scan(ctx, &page); err != nil {
			return nil, "", err
		}
		if len(page) > f.Limit {
			page = page[:f.Limit]
			next = after(&page[f.Limit-1])
		}
		return page, next, nil
	}
	matches := make([]string, len(words))
	var args []any
	for i, word := range words {
		beginning := plaintext.Beginning(word)
		matches[i] = "(? OR ?)"
		args = append(args, database.HasWord(db, "n.title_search_text", beginning), database.HasWord(db, "n.summary_search_text", beginning))
	}
	placed := db.NewSelect().TableExpr("(?) AS n", q.Limit(searched)).ColumnExpr("n.*").
		ColumnExpr("ROW_NUMBER() OVER (ORDER BY n.posted_at DESC, n.id DESC) AS place").
		ColumnExpr("? AS found", bun.SafeQuery(strings.Join(matches, " AND "), args...))
	var rows []struct {
		Item  `bun:",extend"`
		Place int
		Found bool
	}
	err = db.NewSelect().TableExpr("(?) AS n", placed).ColumnExpr("n.*").
		Where("n.found OR n.place = ?", searched).OrderExpr("n.place").Limit(int64(f.Limit)+1).Scan(ctx, &rows)
	if err != nil {
		return nil, "", err
	}
	for i := range rows {
		if rows[i].Found {
			page = append(page, rows[i].Item)
		}
	}
	switch last := len(rows) - 1; {
	case len(page) > f.Limit:
		page = page[:f.Limit]
		next = after(&page[f.Limit-1])
	case last >= 0 && rows[last].Place == searched:
		next = after(&rows[last].Item)
	}
	return page, next, nil
}

// Cite marks items as cited by a prediction, so that they are never pruned. It locks them in ascending order,
// as Observe does.
func (Store) Cite(ctx context.Context, db bun.IDB, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	found := database.ForUpdate(db.NewSelect().Model((*Item)(nil)).Column("id").
		Where("n.id IN ?", bun.Tuple(ids)).Where("NOT n.cited").Order("n.id"))
	if _, err := db.NewUpdate().Model((*Item)(nil)).Set("cited = TRUE").Where("id IN (?)", found).Exec(ctx); err != nil {
		return fmt.Errorf("mark cited news: %w", err)
	}
	return nil
}

// Erase empties the texts and addresses of items that their source has deleted. The rows stay until
// they are pruned, so that a late reading doesn't bring the texts back. It locks them in ascending
// order, as Observe does.
func (Store) Erase(ctx context.Context, db bun.IDB, ids []string) error {
	for part := range slices.Chunk(ids, chunk) {
		found := database.ForUpdate(db.NewSelect().Model((*Item)(nil)).Column("id").
			Where("n.id IN ?", bun.Tuple(part)).Order("n.id"))
		_, err := db.NewUpdate().Model((*Item)(nil)).
			Set("erased = TRUE, title = '', url = '', permalink = '', summary = NULL, author = NULL, flair = NULL, thumbnail = NULL").
			Set("title_search_text = '', summary_search_text = ''").
			Where("id IN (?)", found).Exec(ctx)
		if err != nil {
			return fmt.Errorf("erase news: %w", err)
		}
	}
	return nil
}

// Drop deletes all items. It is for databases whose items can be read from an archive again.
func (Store) Drop(ctx context.Context, db bun.IDB) error {
	if _, err := db.NewDelete().Model((*Item)(nil)).Where("TRUE").Exec(ctx); err != nil {
		return fmt.Errorf("drop news: %w", err)
	}
	return nil
}

// Prune deletes up to 1,000 items that no evidence cites and that were last observed more than KeptFor ago. It
// skips items that another transaction is changing. It keeps items observed at or after sealed, because the
// archive doesn't hold them yet. Without an archive, sealed is now. Prune returns the number of deleted items.
// more reports whether some may be left.
func (Store) Prune(ctx context.Context, db bun.IDB, now, sealed time.Time) (deleted int64, more bool, err error) {
	const batch = 1000
	before := now.Add(-KeptFor)
	if sealed.Before(before) {
		before = sealed
	}
	old := database.ForRemoval(db.NewSelect().Model((*Item)(nil)).Column("id").
		Where("n.observed_at < ?", database.Stored(before)).Where("NOT n.cited").
		OrderExpr("n.observed_at").Limit(batch))
	res, err := db.NewDelete().With("old", old).Model((*Item)(nil)).Where("id IN (SELECT id FROM old)").Exec(ctx)
	if err != nil {
		return 0, false, fmt.Errorf("prune news: %w", err)
	}
	deleted, err = res.RowsAffected()
	if err != nil {
		return 0, false, fmt.Errorf("prune news: %w", err)
	}
	return deleted, deleted == batch, nil
}

// utc converts times to UTC, because drivers return them in the local zone.
func (i *Item) utc() {
	i.PostedAt = i.PostedAt.UTC()
	i.ObservedAt = i.ObservedAt.UTC()
}

// Samples returns the items of the sample world, by community in the source's order.
func (Store) Samples(ctx context.Context, db bun.IDB) ([]Item, error) {
	var items []Item
	if err := db.NewSelect().Model(&items).Where("n.sample").Order("n.community", "n.position").Scan(ctx); err != nil {
		return nil, fmt.Errorf("list sample news: %w", err)
	}
	for i := range items {
		items[i].utc()
	}
	return items, nil
}

// HasLive reports whether any live item is stored, that is, one that isn't a sample.
func (Store) HasLive(ctx context.Context, db bun.IDB) (bool, error) {
	exists, err := db.NewSelect().Model((*Item)(nil)).Where("NOT n.sample").Exists(ctx)
	if err != nil {
		return false, fmt.Errorf("look for live news: %w", err)
	}
	return exists, nil
}
