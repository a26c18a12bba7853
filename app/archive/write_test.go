package archive_test

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
)

func seq[T any](rows ...T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func TestDayWriter(t *testing.T) {
	t.Parallel()
	ctx, folder := t.Context(), archive.OpenFolder(t.TempDir())
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	w := archive.NewDayWriter(folder, "2026-11-21", "")
	var prices []archive.PriceRow
	for i := range 3000 {
		prices = append(prices, archive.PriceRow{
			Market: fmt.Sprint(i / 1500), Observed: archive.Observed{ObservedAt: noon.Add(time.Duration(i%1500) * time.Second), Source: "polymarket"},
			Prices: []float64{0.4, 0.6},
		})
	}
	salt, content := []byte("salt"), []byte(`{"title":"A"}`)
	for _, err := range []error{
		archive.WriteTable(ctx, w, archive.Prices, "polymarket", seq(prices...)),
		archive.WriteTable(ctx, w, archive.Markets, "polymarket", seq[archive.MarketRow]()),
		archive.WriteTable(ctx, w, archive.News, "hackernews", seq(archive.NewsRow{Item: "hn-1", Observed: archive.Observed{ObservedAt: noon, Source: "hackernews"}, PostedAt: noon, Texts: archive.TextHash(salt, content)})),
		w.WriteTexts(ctx, archive.News, "hackernews", seq(archive.TextRow{Record: "hn-1", Salt: salt, Content: content})),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := archive.OpenDay(ctx, folder, "2026-11-21"); err == nil {
		t.Error("a day without a manifest is sealed")
	}
	if err := w.Finish(ctx); err != nil {
		t.Fatal(err)
	}
	manifest, err := archive.ReadObject(ctx, folder, archive.Path("2026-11-21", archive.ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	d, err := archive.OpenDay(ctx, folder, "2026-11-21")
	if err != nil {
		t.Fatal(err)
	}
	if d.Hash != archive.Hash(manifest) || len(d.Manifest.Files) != 2 || d.Manifest.Files[0].Rows != 3000 ||
		!d.Manifest.First.Equal(noon) || !d.Manifest.Last.Equal(noon.Add(1499*time.Second)) || len(d.Manifest.Texts) != 1 {
		t.Errorf("manifest %s", manifest)
	}
	file, err := archive.ReadObject(ctx, folder, archive.Path("2026-11-21", d.Manifest.Files[0].Name))
	if err != nil || archive.Hash(file) != d.Manifest.Files[0].SHA256 || int64(len(file)) != d.Manifest.Files[0].Bytes {
		t.Errorf("the file doesn't match the manifest (error %v)", err)
	}
	n := 0
	for row, err := range archive.Rows[archive.PriceRow](ctx, d, archive.Prices) {
		if err != nil || row.Market != prices[n].Market || !row.ObservedAt.Equal(prices[n].ObservedAt) || len(row.Prices) != 2 {
			t.Fatalf("row %d: got %+v, error %v", n, row, err)
		}
		n++
	}
	texts := 0
	for row, err := range archive.TextRows(ctx, d, archive.News) {
		if err != nil || string(row.Content) != string(content) {
			t.Errorf("texts: got %+v, error %v", row, err)
		}
		texts++
	}
	if n != 3000 || texts != 1 {
		t.Errorf("read %d rows and %d texts, want 3000 and 1", n, texts)
	}
}
