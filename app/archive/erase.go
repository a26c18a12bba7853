package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// eraser erases texts from one day.
type eraser struct {
	*Day
	storage Writable
	wanted  map[record]string
	now     time.Time
	found   []Redaction // of the texts that aren't erased yet
	listed  []Redaction // those of wanted in redactions.json, if it was written
}

// rewritten is a text file without the erased texts.
type rewritten struct {
	state   TextsState
	content []byte
}

// erase writes redactions.json and texts.json before it rewrites the texts. If it is stopped in
// between, the next run finds the remaining texts and erases them. If all texts were erased before,
// it only stores the reasons that replace Hidden.
func (e *eraser) erase(ctx context.Context) error {
	files := map[string]*rewritten{}
	for _, f := range e.Manifest.Texts {
		rows, err := e.split(ctx, f)
		if err != nil {
			return err
		}
		if rows == nil {
			continue
		}
		// The encoded file takes less memory than its rows until it is written.
		if files[f.Name], err = encodeTexts(ctx, f.Name, rows); err != nil {
			return err
		}
	}
	if err := e.writeRedactions(ctx); err != nil || len(files) == 0 {
		return err
	}
	if err := e.writeStates(ctx, files); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := e.rewrite(ctx, files[name]); err != nil {
			return err
		}
	}
	return nil
}

// split returns the remaining texts of a file, or nil if none is to be erased.
func (e *eraser) split(ctx context.Context, f Texts) (kept []TextRow, err error) {
	kept = []TextRow{}
	erased := false
	for row, err := range readTexts(ctx, e.storage, Path(e.Manifest.Day, f.Name)) {
		if errors.Is(err, ErrNotExist) {
			return nil, nil // all texts were erased before
		}
		if err != nil {
			return nil, err
		}
		reason, wanted := e.wanted[record{f.Table, row.Record}]
		if !wanted {
			kept = append(kept, row)
			continue
		}
		erased = true
		r := Redaction{Table: f.Table, Record: row.Record, Reason: reason, At: e.now}
		if !slices.ContainsFunc(e.found[max(0, len(e.found)-1):], r.same) {
			e.found = append(e.found, r)
		}
	}
	if !erased {
		return nil, nil
	}
	return kept, nil
}

// writeRedactions adds the texts found to redactions.json. A reason that replaces another does so there too, because
// the reason decides whether the texts stay erased after a restore; see recallErasures. If there is a change,
// writeRedactions sets listed.
func (e *eraser) writeRedactions(ctx context.Context) error {
	var list, wanted []Redaction
	name := Path(e.Manifest.Day, RedactionsName)
	if err := readJSON(ctx, e.storage, name, &list); err != nil {
		return err
	}
	changed := len(e.found) > 0
	known := make(map[record]bool, len(list))
	for i := range list {
		r := &list[i]
		key := record{r.Table, r.Record}
		reason, asked := e.wanted[key]
		if asked && replaces(reason, r.Reason) {
			r.Reason, changed = reason, true
		}
		if asked && !known[key] {
			wanted = append(wanted, *r)
		}
		known[key] = true
	}
	if !changed {
		return nil
	}
	for _, r := range e.found {
		if key := (record{r.Table, r.Record}); !known[key] {
			known[key] = true
			list, wanted = append(list, r), append(wanted, r)
		}
	}
	e.listed = wanted
	return putJSON(ctx, e.storage, name, list)
}

// encodeTexts encodes the remaining texts of a file.
func encodeTexts(ctx context.Context, name string, rows []TextRow) (*rewritten, error) {
	var b bytes.Buffer
	n, err := writeParquet(ctx, &b, each(rows))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &rewritten{TextsState{Name: name, Rows: n, Bytes: int64(b.Len()), SHA256: Hash(b.Bytes())}, b.Bytes()}, nil
}

// writeStates writes texts.json for the files as they will be.
func (e *eraser) writeStates(ctx context.Context, files map[string]*rewritten) error {
	var states []TextsState
	name := Path(e.Manifest.Day, TextsName)
	if err := readJSON(ctx, e.storage, name, &states); err != nil {
		return err
	}
	for i := range states {
		if f, changed := files[states[i].Name]; changed {
			states[i] = f.state
		}
	}
	return putJSON(ctx, e.storage, name, states)
}

// rewrite replaces a text file, or deletes it if no texts remain.
func (e *eraser) rewrite(ctx context.Context, f *rewritten) error {
	name := Path(e.Manifest.Day, f.state.Name)
	if f.state.Rows == 0 {
		return e.storage.Delete(ctx, name)
	}
	return put(ctx, e.storage, name, f.content)
}

// redaction is a Redaction in the database.
type redaction struct {
	bun.BaseModel `bun:"table:redactions,alias:r"`

	ID        uuid.UUID `bun:",pk,type:uuid"`
	Day       string
	Kind      string
	Record    string
	Reason    string
	CreatedAt time.Time
}

// recordRedactions stores the redactions of a day. A stored reason changes as replaces says.
func recordRedactions(ctx context.Context, db bun.IDB, day string, list []Redaction) error {
	rows := make([]redaction, len(list))
	for i, r := range list {
		rows[i] = redaction{ID: database.NewID(r.At), Day: day, Kind: r.Table, Record: r.Record, Reason: r.Reason, CreatedAt: r.At}
	}
	for part := range slices.Chunk(rows, 500) {
		_, err := db.NewInsert().Model(&part).On("CONFLICT (day, kind, record) DO UPDATE").
			Set("reason = EXCLUDED.reason").Where("r.reason = ?", Hidden).Exec(ctx)
		if err != nil {
			return fmt.Errorf("record redactions: %w", err)
		}
	}
	return nil
}
