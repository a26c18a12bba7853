package archive

import (
	"context"
	"errors"
	"fmt"
)

// Verify checks every day that a storage holds and that each follows the day before. It calls
// found for each day, the oldest first, also for one that is missing between two others or whose
// manifest can't be read. A fault of one day doesn't keep the others from being checked. It returns
// the hash of the last day.
func Verify(ctx context.Context, s Storage, found func(day string, f *Findings) error) (last string, err error) {
	days, err := StoredDays(ctx, s)
	if err != nil || len(days) == 0 {
		return "", err
	}
	v := verifier{storage: s, found: found}
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

// verifier follows the chain of days.
type verifier struct {
	storage Storage
	found   func(day string, f *Findings) error
	before  string // the day before; "" at the first
	hash    string // of its manifest; "" if it can't be known
}

// missing reports the days between the day before and this one.
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
	switch {
	case before == "" && d.Manifest.Previous != "":
		f.Notes = append(f.Notes, Problem{name, "the days before it aren't here"})
	case previous != "" && d.Manifest.Previous != previous:
		f.Problems = append(f.Problems, Problem{name, fmt.Sprintf("it doesn't follow the day before, whose hash is %s: it names %q", previous, d.Manifest.Previous)})
	}
	return v.found(day, f)
}
