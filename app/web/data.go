package web

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/release"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

// daysOnPage is how many days the data page lists.
const daysOnPage = 14

// data shows the days of the data release before a given day, newest first.
func (s *Site) data(c *fiber.Ctx, a address) error {
	before := a.get("before")
	days, more, err := s.Release.Days(c.UserContext(), before, daysOnPage)
	if errors.Is(err, release.ErrUnreadable) {
		return errors.Join(problem.Unavailable("The archive can't be read now. Try again.", 30*time.Second), err)
	}
	if err != nil {
		return err
	}
	p := pages.DataProps{
		Layout:  s.frame("Data", "Prices, news, predictions, scores and boards as files for each day that anyone can check.", "/data", ""),
		License: s.Config.DataLicense, Citation: release.Citation(s.Config.OperatorName, s.Config.BaseURL), Address: s.Config.BaseURL,
		Note: release.EmptyNote(s.Release.Storage != nil),
	}
	if before != "" {
		p.Pages.First = "/data"
	}
	if more {
		p.Pages.Next = "/data?before=" + url.QueryEscape(days[daysOnPage-1].Day)
	}
	for i := range days {
		p.Days = append(p.Days, dataDay(&days[i]))
	}
	for _, t := range release.Tables() {
		p.Tables = append(p.Tables, dataTable(t))
	}
	return show(c, pages.Data(p))
}

func dataTable(t release.Table) pages.DataTable {
	out := pages.DataTable{Name: t.Name, Description: t.Description}
	for _, c := range t.Columns {
		column := pages.DataColumn{Name: c.Name, Type: c.Type}
		if c.Optional {
			column.Type += ", optional"
		}
		out.Columns = append(out.Columns, column)
	}
	return out
}

func dataDay(d *release.Day) pages.DataDay {
	base := "/api/data/days/" + d.Day + "/"
	out := pages.DataDay{
		Day: d.Day, Hash: d.Hash, Href: base + archive.ManifestName, Erased: base + archive.RedactionsName,
		AbandonedFrom: d.Manifest.AbandonedFrom, Abandoned: d.Abandoned,
	}
	total := int64(0)
	for _, f := range d.Files {
		if f.Bytes < 0 {
			continue
		}
		file := pages.DataFile{Name: f.Name, Rows: int(f.Rows), Size: size(f.Bytes)}
		if !f.Withheld {
			file.Href, total = base+f.Name, total+f.Bytes
			out.Rows += file.Rows
		}
		out.Files = append(out.Files, file)
	}
	out.Size = size(total)
	return out
}

// size writes a number of bytes with its unit, such as "1.2 MB".
func size(n int64) string {
	switch {
	case n < 1000:
		return components.Count(int(n)) + "\u00a0B"
	case n < 1_000_000:
		return fmt.Sprintf("%.1f\u00a0kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f\u00a0MB", float64(n)/1e6)
}
