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
	v := verifier{storage: s, found: found}
	if v.abandoned, err = abandonedIn(ctx, s, days); err != nil {
		return "", err
	}
	for _, day := range days {
		if err := v.missing(day); err != nil {
			return "", err
		}
		if err := v.day(ctx, day); err != nil {
			return "", err
		}
	}
	return v.hash, nil
}

// verifier checks the chain of days.
type verifier struct {
	storage Storage
	found   func(day string, f *Findings) error
	before  string // previous day; "" before the first
	hash    string // of the previous day; "" if unknown
	// abandoned are the days whose decisions don't count.
	abandoned map[string]bool
}

// abandonedIn returns the abandoned days in a storage. It skips days whose manifest can't be read.
func abandonedIn(ctx context.Context, s Storage, days []string) (map[string]bool, error) {
	var manifests []*Manifest
	for _, day := range days {
		d, err := OpenDay(ctx, s, day)
		if _, bad := errors.AsType[Problem](err); bad {
			continue
		}
		if err != nil {
			return nil, err
		}
		manifests = append(manifests, d.Manifest)
	}
	return Abandoned(manifests), nil
}

// missing reports the missing days between the previous day and this one.
func (v *verifier) missing(day string) error {
	for v.before != "" {
		_, next, err := bounds(v.before)
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

func (v *verifier) day(ctx context.Context, day string) error {
	before, previous := v.before, v.hash
	v.before, v.hash = day, ""
	d, err := OpenDay(ctx, v.storage, day)
	if bad, ok := errors.AsType[Problem](err); ok {
		return v.found(day, &Findings{Problems: []Problem{bad}})
	}
	if err != nil {
		return err
	}
	v.hash = d.Hash
	f, err := d.Check(ctx)
	if err != nil {
		return err
	}
	name := Path(day, ManifestName)
	if from := d.Manifest.AbandonedFrom; from != "" && !v.abandoned[day] {
		f.Notes = append(f.Notes, Problem{name, fmt.Sprintf(
			"the database was restored from a backup: decisions in the days from %s up to the day before this one don't count", from)})
	}
	switch {
	case before == "" && d.Manifest.Previous != "":
		f.Notes = append(f.Notes, Problem{name, "the archive doesn't hold the days before it"})
	case previous != "" && d.Manifest.Previous != previous:
		f.Problems = append(f.Problems, Problem{name, fmt.Sprintf("it doesn't follow the day before, whose hash is %s; it names hash %q", previous, d.Manifest.Previous)})
	}
	return v.found(day, f)
}
