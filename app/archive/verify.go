package archive

import (
	"context"
	"errors"
	"fmt"
)

// Verify checks each day in a storage, and that it names the hash of the day before. It calls found
// for each day, oldest first, including days that are missing in between and days whose manifest
// can't be read. It continues after a faulty day. It returns the hash of the last day, or "" if
// that day's manifest can't be read.
func Verify(ctx context.Context, s Storage, found func(day string, f *Findings) error) (last string, err error) {
	days, err := StoredDays(ctx, s)
	if err != nil || len(days) == 0 {
		return "", err
	}
	opened, err := openDays(ctx, s, days)
	if err != nil {
		return "", err
	}
	v := verifier{found: found, abandoned: Abandoned(manifests(opened))}
	for i := range opened {
		if err := v.missing(opened[i].name); err != nil {
			return "", err
		}
		if err := v.day(ctx, &opened[i]); err != nil {
			return "", err
		}
	}
	return v.hash, nil
}

// verifier checks the chain of days.
type verifier struct {
	found  func(day string, f *Findings) error
	before string // previous day; "" before the first
	hash   string // of the previous day; "" if unknown
	// abandoned are the days whose decisions don't count.
	abandoned map[string]bool
}

// openedDay is a day of a storage.
type openedDay struct {
	name string
	*Day         // nil if the manifest can't be read
	bad  Problem // why it can't be read
}

// openDays reads the manifests of days.
func openDays(ctx context.Context, s Storage, names []string) ([]openedDay, error) {
	days := make([]openedDay, len(names))
	for i, name := range names {
		d, err := OpenDay(ctx, s, name)
		bad, unreadable := errors.AsType[Problem](err)
		if err != nil && !unreadable {
			return nil, err
		}
		days[i] = openedDay{name, d, bad}
	}
	return days, nil
}

// manifests returns the manifests that could be read.
func manifests(days []openedDay) (list []*Manifest) {
	for i := range days {
		if days[i].Day != nil {
			list = append(list, days[i].Manifest)
		}
	}
	return list
}

// missing reports the missing days between the previous day and this one.
func (v *verifier) missing(day string) error {
	for v.before != "" {
		_, next, err := Bounds(v.before)
		if err != nil || DayOf(next) >= day {
			return err
		}
		v.before, v.hash = DayOf(next), ""
		p := Problem{Path(v.before, ManifestName), "the day is missing"}
		if err := v.found(v.before, &Findings{Problems: []Problem{p}}); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) day(ctx context.Context, d *openedDay) error {
	before, previous := v.before, v.hash
	v.before, v.hash = d.name, ""
	if d.Day == nil {
		return v.found(d.name, &Findings{Problems: []Problem{d.bad}})
	}
	v.hash = d.Hash
	f, err := d.Check(ctx)
	if err != nil {
		return err
	}
	f.Hash = d.Hash
	name := Path(d.name, ManifestName)
	if from := d.Manifest.AbandonedFrom; from != "" && !v.abandoned[d.name] {
		f.Notes = append(f.Notes, Problem{name, fmt.Sprintf(
			"the database was restored from a backup: decisions in the days from %s up to the day before this one don't count", from)})
	}
	switch {
	case before == "" && d.Manifest.Previous != "":
		f.Notes = append(f.Notes, Problem{name, "the archive doesn't hold the days before it"})
	case previous != "" && d.Manifest.Previous != previous:
		f.Problems = append(f.Problems, Problem{name, fmt.Sprintf("it doesn't follow the day before, whose hash is %s; it names hash %q", previous, d.Manifest.Previous)})
	}
	return v.found(d.name, f)
}
