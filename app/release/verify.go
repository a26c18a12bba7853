package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

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
	Days        int
	First, Last string // days
	Rows, Bytes int64
	Problems    []archive.Problem
	Notes       []archive.Problem
	Withheld    []string // files that a release leaves out, with their days
	Redactions  int
}

// Verify reads an archive or a release whole: every file against its manifest, every manifest
// against the day after, and every text against the hash that its row carries. step is called
// after each day with how many days are checked of how many there are. The error is of a place that
// can't be read; what is wrong with the files is in the Verification.
func Verify(ctx context.Context, s archive.Storage, step func(days, of int)) (*Verification, error) {
	days, err := archive.StoredDays(ctx, s)
	if err != nil {
		return nil, err
	}
	if len(days) == 0 {
		return nil, ErrNoDays
	}
	v := &Verification{First: days[0], Last: days[len(days)-1]}
	_, err = archive.Verify(ctx, s, func(day string, found *archive.Findings) error {
		if err := v.add(ctx, s, day, found); err != nil {
			return err
		}
		if slices.Contains(days, day) {
			v.Days++
		}
		step(v.Days, len(days))
		return nil
	})
	return v, err
}

// add takes the findings of a day. What a release leaves out is no problem.
func (v *Verification) add(ctx context.Context, s archive.Storage, day string, found *archive.Findings) error {
	withheld, err := v.withheld(ctx, s, day)
	if err != nil {
		return err
	}
	for _, p := range found.Problems {
		if !slices.Contains(withheld, p.File) {
			v.Problems = append(v.Problems, p)
		}
	}
	for _, name := range found.Withheld { // texts that are not here
		if path := archive.Path(day, name); !slices.Contains(withheld, path) {
			v.Problems = append(v.Problems, archive.Problem{File: path, Reason: archive.TextsName + " names it, but it is missing"})
		}
	}
	v.Notes, v.Withheld = append(v.Notes, found.Notes...), append(v.Withheld, withheld...)
	v.Redactions += len(found.Redactions)
	v.Rows, v.Bytes = v.Rows+found.Rows, v.Bytes+found.Bytes
	return nil
}

// withheld lists the files of a day that the release leaves out; none in an archive.
func (v *Verification) withheld(ctx context.Context, s archive.Storage, day string) ([]string, error) {
	path := archive.Path(day, WithheldName)
	content, err := archive.ReadObject(ctx, s, path)
	if errors.Is(err, archive.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var w Withheld
	if err := json.Unmarshal(content, &w); err != nil {
		v.Problems = append(v.Problems, archive.Problem{File: path, Reason: fmt.Sprintf("it is damaged: %v", err)})
		return nil, nil
	}
	for i, name := range w.Withheld {
		w.Withheld[i] = archive.Path(day, name)
	}
	return w.Withheld, nil
}
