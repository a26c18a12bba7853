package cli

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/release"
)

type dataCommand struct {
	Verify    dataVerify    `cmd:"" help:"Check the files, the chain and the texts of an archive or a data release."`
	Recompute dataRecompute `cmd:"" help:"Rebuild the latest board from the published files only, and compare it."`
	Redact    redactCommand `cmd:"" help:"Erase the texts of a record from the archive, as a court may order."`
}

// errData is the error of data that fails its verification.
var errData = errors.New("the data failed the verification")

type dataVerify struct {
	Where  string        `arg:"" optional:"" default:"data/archive" help:"A folder, s3://bucket/prefix, or the address of an installation."`
	Expect []expectation `name:"expect" sep:"none" placeholder:"DAY:HASH" help:"Fail if the manifest of DAY doesn't have this SHA-256, which an earlier verification printed. May be repeated."`
}

// expectation is the hash that the manifest of a day must have.
type expectation struct{ day, hash string }

// UnmarshalText reads DAY:HASH.
func (e *expectation) UnmarshalText(text []byte) error {
	e.day, e.hash, _ = strings.Cut(string(text), ":")
	_, _, err := archive.Bounds(e.day)
	if hash, wrong := hex.DecodeString(e.hash); err != nil || wrong != nil || len(hash) != sha256.Size {
		return fmt.Errorf("%q is not DAY:HASH: send a day and the 64 hex digits of its hash, such as 2026-11-21:9f86…", text)
	}
	return nil
}

// Run prints each problem by file, and fails if there is one.
func (d *dataVerify) Run(ctx context.Context) (err error) {
	s, done, err := release.Open(ctx, d.Where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	bar := progress("Checking", 0)
	v, err := release.Verify(ctx, s, func(days, of int) { bar.ChangeMax(of); _ = bar.Set(days) })
	_ = bar.Exit() // decoration only
	if err != nil {
		return fmt.Errorf("%s: %w", d.Where, err)
	}
	for _, e := range d.Expect {
		v.Expect(e.day, e.hash)
	}
	if err := printChecked(os.Stdout, v); err != nil {
		return err
	}
	if len(v.Problems) > 0 {
		return fmt.Errorf("%d problems: %w", len(v.Problems), errData)
	}
	return nil
}

func printChecked(out io.Writer, v *release.Verification) error {
	w := bufio.NewWriter(out) // keeps the first error for Flush
	for _, p := range v.Problems {
		fmt.Fprintf(w, "problem  %s\n", plaintext.PrintableLine(p.Error()))
	}
	for _, n := range v.Notes {
		fmt.Fprintf(w, "note     %s\n", plaintext.PrintableLine(n.Error()))
	}
	fmt.Fprintf(w, "%d days, %s to %s: %d rows in %.1f MB\n", v.Days, v.First, v.Last, v.Rows, float64(v.Bytes)/1e6)
	if v.Redactions > 0 {
		fmt.Fprintf(w, "%d texts were erased, each with a reason in redactions.json\n", v.Redactions)
	}
	if len(v.Withheld) > 0 {
		fmt.Fprintf(w, "not checked: %d files that the release leaves out, of %s\n", len(v.Withheld), plaintext.PrintableLine(strings.Join(sourcesOf(v.Withheld), ", ")))
	}
	if len(v.Problems) == 0 {
		fmt.Fprintf(w, "files, chain and texts are in order\n")
	}
	if hash := v.Hash(); hash != "" {
		fmt.Fprintf(w, "last manifest: keep this to check it later: --expect %s:%s\n", v.Last, hash)
	}
	return w.Flush()
}

func sourcesOf(missing []archive.Missing) (names []string) {
	for _, m := range missing {
		if !slices.Contains(names, m.Source) {
			names = append(names, m.Source)
		}
	}
	return names
}

type dataRecompute struct {
	Where string `arg:"" optional:"" default:"data/archive" help:"A folder, s3://bucket/prefix, or the address of an installation."`
}

// Run prints the recomputed board. It fails if a number differs from the published one.
func (d *dataRecompute) Run(ctx context.Context) (err error) {
	s, done, err := release.Open(ctx, d.Where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	r, err := release.Recompute(ctx, s, func(what string) { fmt.Fprintln(os.Stderr, what+"…") })
	if err != nil {
		return fmt.Errorf("%s: %w", d.Where, err)
	}
	if err := printRecomputed(os.Stdout, r); err != nil {
		return err
	}
	if len(r.Differences) > 0 {
		return fmt.Errorf("%d differences: %w", len(r.Differences), errData)
	}
	return nil
}

func printRecomputed(out io.Writer, r *release.Report) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "rank\tagent\tskill\tbest guess\trange low\trange high\todds\tevents\tpredictions\n")
	for _, b := range r.Main() {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\n", rankOf(&b), plaintext.PrintableLine(r.Name(b.Agent)), number(b.Skill), number(b.BestGuess),
			number(b.SkillLow), number(b.SkillHigh), number(b.Odds), b.Events, b.Resolved)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "\nBoard of %s, from %d days: %d predictions, %d ledger rows, %d reference rows; %d rows of all boards compared.\n",
		r.AsOf.Format("2006-01-02T15:04:05.999999Z"), r.Days, r.Predictions, r.Entries, r.References, len(r.Rows))
	fmt.Fprintf(w, "Baselines recomputed from prices: %d agree, %d differ, %d have no prices here.\n",
		r.Baselines.Same, r.Baselines.Different, r.Baselines.Missing)
	for _, text := range r.Differences {
		fmt.Fprintf(w, "differs  %s\n", plaintext.PrintableLine(text))
	}
	if len(r.Differences) == 0 {
		fmt.Fprintf(w, "Every number equals the published one, to the last digit.\n")
	}
	return w.Flush()
}

func rankOf(b *archive.BoardRow) string {
	switch {
	case b.Rank != nil:
		return fmt.Sprintf("%d (%d-%d)", *b.Rank, *b.RankLow, *b.RankHigh)
	case b.Reference:
		return "reference"
	}
	return "provisional"
}

// number writes all digits, or "-" for none.
func number(n *float64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatFloat(*n, 'g', -1, 64)
}
