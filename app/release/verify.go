package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pulsecast/pulsecast/app/archive"
)

// WithheldName is a file of each day of a release. It lists the files that the release leaves out.
const WithheldName = "release.json"

// Withheld is the content of that file.
type Withheld struct {
	Withheld []string `json:"withheld"` // names relative to the day, as in the manifest
}

// ErrNoDays means that the storage holds no sealed day.
var ErrNoDays = errors.New("there is no sealed day here; the folder of an archive or a release contains a folder \"days\"")

// Verification is the result of Verify.
type Verification struct {
	Days        int
	First, Last string // first and last day
	Rows, Bytes int64
	Problems    []archive.Problem
	Notes       []archive.Problem
	// Withheld are the missing files that the release says it leaves out. Only files of a source can be: they could not
	// be checked.
	Withheld   []archive.Missing
	Redactions int

	hashes map[string]string // of the manifests that could be read, by day
}

// Hash returns the hash of the last manifest, in hex, or "" if that manifest can't be read. It fixes all days before it.
func (v *Verification) Hash() string { return v.hashes[v.Last] }

// Expect adds a problem if the manifest of a day doesn't have the given hash, in hex. A mirror that rewrites a day can
// rewrite the later days too, so only a hash that was kept elsewhere shows it.
func (v *Verification) Expect(day, hash string) {
	if got, read := v.hashes[day]; !read {
		v.Problems = append(v.Problems, archive.Problem{
			File: archive.Path(day, archive.ManifestName), Reason: "it is missing or can't be read, but its SHA-256 is expected to be " + hash,
		})
	} else if !strings.EqualFold(got, hash) {
		v.Problems = append(v.Problems, archive.Problem{
			File: archive.Path(day, archive.ManifestName), Reason: fmt.Sprintf("its SHA-256 is %s instead of the expected %s", got, hash),
		})
	}
}

// Verify reads a whole archive or release. It checks every file against its manifest, every
// manifest against the next day, and every text against the hash in its row. It calls step after
// each day with the number of days checked and the number of days. It returns faults of the files
// in the Verification. An error means that the storage can't be read.
func Verify(ctx context.Context, s archive.Storage, step func(days, of int)) (*Verification, error) {
	days, err := archive.StoredDays(ctx, s)
	if err != nil {
		return nil, err
	}
	if len(days) == 0 {
		return nil, ErrNoDays
	}
	v := &Verification{First: days[0], Last: days[len(days)-1], hashes: map[string]string{}}
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

// add adds the findings of a day. Every difference is a problem, whatever the release says about the file. The only thing
// that a release may say is that it leaves out a file of a source.
func (v *Verification) add(ctx context.Context, s archive.Storage, day string, found *archive.Findings) error {
	withheld, err := v.withheld(ctx, s, day)
	if err != nil {
		return err
	}
	v.Problems = append(v.Problems, found.Problems...)
	for _, m := range found.Missing {
		if slices.Contains(withheld, m.File) {
			v.Withheld = append(v.Withheld, m)
		} else {
			v.Problems = append(v.Problems, m.Problem)
		}
	}
	if found.Hash != "" {
		v.hashes[day] = found.Hash
	}
	v.Notes = append(v.Notes, found.Notes...)
	v.Redactions += len(found.Redactions)
	v.Rows, v.Bytes = v.Rows+found.Rows, v.Bytes+found.Bytes
	return nil
}

// withheld lists the files that the release says it leaves out of a day. An archive has none.
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
		v.Problems = append(v.Problems, archive.Problem{File: path, Reason: fmt.Sprintf("the file is damaged: %v", err)})
		return nil, nil
	}
	for i, name := range w.Withheld {
		w.Withheld[i] = archive.Path(day, name)
	}
	return w.Withheld, nil
}
