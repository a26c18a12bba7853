package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
)

// Catalogue lists the contents of a release and opens its files.
type Catalogue struct {
	DB *database.DB
	// Storage is the archive, nil if there is none.
	Storage archive.Storage
	// Sources says by name which sources are published. The files of other sources are withheld.
	Sources map[string]bool
}

// Day is one day of a release.
type Day struct {
	archive.SealedDay
	Abandoned bool // its decisions don't count; see archive.Abandoned. Only Days sets it.
	Files     []File
}

// File is one file of a day.
type File struct {
	Name, Table, Source string
	// Rows is the count at sealing. Bytes is -1 and SHA256 is empty for a small JSON file that may
	// change.
	Rows, Bytes int64
	SHA256      string
	Texts       bool // a text file
	Withheld    bool // not part of the release
}

// published reports whether the files of a source are part of the release. Exported tables have no
// source and are always published.
func (c *Catalogue) published(source string) bool { return source == "" || c.Sources[source] }

// Days lists up to limit days before the given one, newest first. more reports whether there are older ones.
func (c *Catalogue) Days(ctx context.Context, before string, limit int) (days []Day, more bool, err error) {
	if c.Storage == nil {
		return []Day{}, false, nil
	}
	sealed, err := archive.DaysBefore(ctx, c.DB.Reader, before, limit+1)
	if err != nil {
		return nil, false, err
	}
	if more = len(sealed) > limit; more {
		sealed = sealed[:limit]
	}
	abandoned, err := archive.AbandonedAmong(ctx, c.DB.Reader, sealed)
	if err != nil {
		return nil, false, err
	}
	days = make([]Day, len(sealed))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(daysAtOnce)
	for i := range sealed {
		reads.Go(func() (err error) {
			days[i], err = c.day(ctx, &sealed[i])
			days[i].Abandoned = abandoned[sealed[i].Day]
			return err
		})
	}
	return days, more, reads.Wait()
}

// daysAtOnce is how many days are read from the archive at a time. An archive in another place takes tens of
// milliseconds for each.
const daysAtOnce = 8

// day lists the files of a day, with the current state of text files.
func (c *Catalogue) day(ctx context.Context, sealed *archive.SealedDay) (Day, error) {
	d := Day{SealedDay: *sealed}
	for _, f := range sealed.Manifest.Files {
		d.Files = append(d.Files, File{
			Name: f.Name, Table: f.Table, Source: f.Source, Rows: f.Rows, Bytes: f.Bytes, SHA256: f.SHA256, Withheld: !c.published(f.Source),
		})
	}
	states, err := c.texts(ctx, sealed.Day)
	if err != nil {
		return d, err
	}
	for _, t := range sealed.Manifest.Texts {
		f := File{Name: t.Name, Table: t.Table, Source: t.Source, Rows: t.Rows, Texts: true, Withheld: !c.published(t.Source)}
		i := slices.IndexFunc(states, func(s archive.TextsState) bool { return s.Name == t.Name })
		if i < 0 || states[i].Rows == 0 {
			continue // all texts are erased
		}
		f.Rows, f.Bytes, f.SHA256 = states[i].Rows, states[i].Bytes, states[i].SHA256
		d.Files = append(d.Files, f)
	}
	d.Files = append(d.Files, File{Name: archive.ManifestName, Bytes: -1, SHA256: sealed.Hash})
	for _, name := range []string{archive.TextsName, archive.RedactionsName, WithheldName} {
		d.Files = append(d.Files, File{Name: name, Bytes: -1})
	}
	return d, nil
}

func (c *Catalogue) texts(ctx context.Context, day string) (states []archive.TextsState, err error) {
	content, err := archive.ReadObject(ctx, c.Storage, archive.Path(day, archive.TextsName))
	if err != nil {
		return nil, unreadable(err)
	}
	if err := json.Unmarshal(content, &states); err != nil {
		return nil, unreadable(fmt.Errorf("%s: %w", archive.Path(day, archive.TextsName), err))
	}
	return states, nil
}

// ErrUnreadable means that the archive can't be read at the moment.
var ErrUnreadable = errors.New("the archive can't be read")

// unreadable hides the kind of an error of the archive, which would otherwise look like one of the database. It returns
// the error of a cancelled request as it is.
func unreadable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %v", ErrUnreadable, err)
}

// ErrNoFile means that the release has no such file. ErrWithheld means that the file is not
// published.
var (
	ErrNoFile   = errors.New("no such file")
	ErrWithheld = errors.New("not part of the release")
)

// Open opens a file of a day. The caller closes the object.
func (c *Catalogue) Open(ctx context.Context, day, name string) (archive.Object, *File, error) {
	if _, err := time.Parse(time.DateOnly, day); err != nil || c.Storage == nil {
		return nil, nil, ErrNoFile
	}
	sealed, err := archive.DaysBetween(ctx, c.DB.Reader, day, day)
	if err != nil {
		return nil, nil, err
	}
	if len(sealed) == 0 {
		return nil, nil, ErrNoFile
	}
	d, err := c.day(ctx, &sealed[0])
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(d.Files, func(f File) bool { return f.Name == name })
	switch {
	case i < 0:
		return nil, nil, ErrNoFile
	case d.Files[i].Withheld:
		return nil, nil, ErrWithheld
	case name == WithheldName:
		return c.withheld(&d)
	}
	o, err := c.Storage.Open(ctx, archive.Path(day, name))
	if err != nil {
		return nil, nil, unreadable(fmt.Errorf("%s: %w", archive.Path(day, name), err))
	}
	return o, &d.Files[i], nil
}

// withheld returns the file that lists the withheld files of a day.
func (c *Catalogue) withheld(d *Day) (archive.Object, *File, error) {
	w := Withheld{Withheld: []string{}}
	for _, f := range d.Files {
		if f.Withheld {
			w.Withheld = append(w.Withheld, f.Name)
		}
	}
	content, err := json.Marshal(w)
	if err != nil {
		return nil, nil, err
	}
	return newContent(append(content, '\n')), &File{Name: WithheldName, Bytes: -1}, nil
}
