package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
)

// WithheldName is the file of a day of a release that lists what the release leaves out.
const WithheldName = "release.json"

// Withheld is the content of that file.
type Withheld struct {
	Withheld []string `json:"withheld"` // names as in the manifest
}

// ErrNoDays is the error of a place that holds no sealed day.
var ErrNoDays = errors.New("there is no sealed day here: a folder of an archive or a release has a folder \"days\"")

// Verification is what Verify found.
type Verification struct {
	Days, Rows, Bytes int64
	First, Last       string // days
	Problems          []archive.Problem
	Notes             []archive.Problem
	Withheld          []string // files that a release leaves out, with their days
	Redactions        int
}

// Verify reads an archive or a release whole: every file against its manifest, every manifest
// against the day after, and every text against the hash that its row carries. step is called
// after each day with the bytes read of the bytes that there are. The error is of a place that
// can't be read; what is wrong with the files is in the Verification.
func Verify(ctx context.Context, s archive.Storage, step func(read, total int64)) (*Verification, error) {
	names, err := Days(ctx, s)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, ErrNoDays
	}
	v := &verifier{storage: s, step: step}
	v.First, v.Last = names[0], names[len(names)-1]
	days := make([]*archive.Day, len(names))
	for i, name := range names {
		if days[i], err = v.open(ctx, name); err != nil {
			return nil, err
		}
	}
	v.chain(names, days)
	for _, d := range days {
		if d == nil {
			continue
		}
		if err := v.day(ctx, d); err != nil {
			return nil, err
		}
	}
	return &v.Verification, nil
}

type verifier struct {
	Verification
	storage     archive.Storage
	step        func(read, total int64)
	read, total int64
}

func (v *verifier) problem(name, format string, args ...any) {
	v.Problems = append(v.Problems, archive.Problem{File: name, Reason: fmt.Sprintf(format, args...)})
}

// open reads a manifest. A day whose manifest is damaged is a problem, and nil.
func (v *verifier) open(ctx context.Context, day string) (*archive.Day, error) {
	content, err := archive.ReadObject(ctx, v.storage, archive.Path(day, archive.ManifestName))
	if err != nil {
		return nil, err
	}
	if _, err := archive.ReadManifest(day, content); err != nil {
		v.Problems = append(v.Problems, archive.Problem{File: archive.Path(day, archive.ManifestName), Reason: err.Error()})
		return nil, nil
	}
	d, err := archive.OpenDay(ctx, v.storage, day)
	if err == nil {
		v.total += bytesOf(d)
	}
	return d, err
}

func bytesOf(d *archive.Day) (n int64) {
	for _, f := range d.Manifest.Files {
		n += f.Bytes
	}
	return n
}

// chain checks that each day names the hash of the day before, and that no day is missing.
func (v *verifier) chain(names []string, days []*archive.Day) {
	for i, d := range days {
		if d == nil {
			continue
		}
		path := archive.Path(d.Manifest.Day, archive.ManifestName)
		switch {
		case i == 0:
			if d.Manifest.Previous != "" {
				v.Notes = append(v.Notes, archive.Problem{File: path, Reason: "it names a day before, which is not here: the chain is checked from this day on"})
			}
		case names[i-1] != dayBefore(names[i]):
			v.problem(path, "the day before, %s, is missing: the last one here is %s", dayBefore(names[i]), names[i-1])
		case days[i-1] != nil && d.Manifest.Previous != days[i-1].Hash:
			v.problem(path, "it names %q as the SHA-256 of the manifest of %s, which is %s", d.Manifest.Previous, names[i-1], days[i-1].Hash)
		}
	}
}

func dayBefore(day string) string {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return ""
	}
	return at.AddDate(0, 0, -1).Format(time.DateOnly)
}

// day checks the files of a day.
func (v *verifier) day(ctx context.Context, d *archive.Day) error {
	withheld, err := v.withheld(ctx, d.Manifest.Day)
	if err != nil {
		return err
	}
	found, err := d.Check(ctx)
	if err != nil {
		return err
	}
	for _, p := range found.Problems {
		if !slices.Contains(withheld, p.File) {
			v.Problems = append(v.Problems, p)
		}
	}
	for _, name := range found.Withheld { // texts that are not here
		if path := archive.Path(d.Manifest.Day, name); !slices.Contains(withheld, path) {
			v.problem(path, "%s names it, but it is missing", archive.TextsName)
		}
	}
	v.Notes, v.Withheld = append(v.Notes, found.Notes...), append(v.Withheld, withheld...)
	v.Redactions += len(found.Redactions)
	v.Days, v.Rows, v.Bytes = v.Days+1, v.Rows+found.Rows, v.Bytes+found.Bytes
	v.read += bytesOf(d)
	v.step(v.read, v.total)
	return nil
}

// withheld lists the files of a day that the release leaves out; none in an archive.
func (v *verifier) withheld(ctx context.Context, day string) ([]string, error) {
	path := archive.Path(day, WithheldName)
	content, err := archive.ReadObject(ctx, v.storage, path)
	if errors.Is(err, archive.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var w Withheld
	if err := json.Unmarshal(content, &w); err != nil {
		v.problem(path, "it is damaged: %v", err)
		return nil, nil
	}
	for i, name := range w.Withheld {
		w.Withheld[i] = archive.Path(day, name)
	}
	return w.Withheld, nil
}
