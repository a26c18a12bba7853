package archive_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/pulsecast/pulsecast/app/archive"
)

// TestRowsRoundTrip writes a row of each type and reads it back from a folder.
func TestRowsRoundTrip(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 12, 0, 0, 123000, time.UTC)
	seen := archive.Observed{ObservedAt: at, Source: "polymarket", Received: []byte{1, 2}}
	roundTrip(t, archive.Markets, archive.MarketRow{Market: "1", Observed: seen, Outcomes: []string{"Yes", "No"}, ClosesAt: &at})
	roundTrip(t, archive.Events, archive.EventRow{Event: "e", Observed: seen, Tags: []string{"nba"}})
	roundTrip(t, archive.Prices, archive.PriceRow{Market: "1", Observed: seen, Prices: []float64{0.25, 0.75}, Volume: new(1.5)})
	roundTrip(t, archive.News, archive.NewsRow{Item: "x", Observed: seen, PostedAt: at, Texts: []byte{3}})
	roundTrip(t, archive.Closings, archive.ClosingRow{Market: "1", Observed: seen, Prices: []float64{1, 0}})
	roundTrip(t, archive.Outcomes, archive.OutcomeRow{Market: "1", Values: []float64{1, 0}, DecidedAt: at})
	roundTrip(t, archive.Predictions, archive.PredictionRow{ID: "p", HorizonAt: at, CreatedAt: at, Edge: new(int64(7))})
	roundTrip(t, archive.Ledger, archive.LedgerRow{ID: "l", CreatedAt: at, LogEdge: new(0.5)})
	roundTrip(t, archive.References, archive.ReferenceRow{Agent: "a", ObservedAt: at, SettledAt: at})
	roundTrip(t, archive.Agents, archive.AgentRow{ID: "a", CreatedAt: at})
	roundTrip(t, archive.Boards, archive.BoardRow{AsOf: at, Rank: new(int64(1))})
	roundTrip(t, archive.Rules, archive.RuleRow{AsOf: at, MarketsInterval: 60})
}

func roundTrip[T any](t *testing.T, table string, row T) {
	t.Helper()
	ctx, folder := t.Context(), archive.OpenFolder(t.TempDir())
	put := func(name string, content []byte) {
		t.Helper()
		if err := folder.Put(ctx, archive.Path("2026-11-21", name), bytes.NewReader(content), int64(len(content))); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := parquet.Write(&b, []T{row}, parquet.Compression(&parquet.Zstd)); err != nil {
		t.Fatal(err)
	}
	put(table+".parquet", b.Bytes())
	m := archive.Manifest{Schema: archive.Schema, Day: "2026-11-21", Files: []archive.File{{Table: table, Name: table + ".parquet"}}}
	content, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	put(archive.ManifestName, content)
	d, err := archive.OpenDay(ctx, folder, "2026-11-21")
	if err != nil {
		t.Fatal(err)
	}
	var got []T
	for r, err := range archive.Rows[T](ctx, d, table) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	var again bytes.Buffer
	if err := parquet.Write(&again, got, parquet.Compression(&parquet.Zstd)); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || !bytes.Equal(again.Bytes(), b.Bytes()) {
		t.Errorf("%s: read %+v, want %+v", table, got, row)
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	ctx, root := t.Context(), t.TempDir()+"/made"
	folder := archive.OpenFolder(root)
	if _, err := folder.Open(ctx, "days/x"); !errors.Is(err, archive.ErrNotExist) {
		t.Errorf("open a missing object: got %v, want ErrNotExist", err)
	}
	if list, err := folder.List(ctx, "days/"); len(list) != 0 || err != nil {
		t.Errorf("list an empty folder: got %v, error %v", list, err)
	}
	for _, name := range []string{"days/b/1", "days/a/1", "other"} {
		if err := folder.Put(ctx, name, bytes.NewReader([]byte(name)), int64(len(name))); err != nil {
			t.Fatal(err)
		}
	}
	list, err := folder.List(ctx, "days/")
	if err != nil || len(list) != 2 || list[0].Name != "days/a/1" || list[1].Size != int64(len("days/b/1")) {
		t.Errorf("list: %v, %v", list, err)
	}
	for what, put := range map[string]func(context.Context, string, io.Reader, int64) error{"Put": folder.Put, "PutNew": folder.PutNew} {
		if err := put(ctx, "days/a", strings.NewReader("texts"), 5); err == nil {
			t.Errorf("%s replaced a folder", what)
		}
		if left, err := filepath.Glob(root + "/days/*.part"); len(left) > 0 || err != nil {
			t.Errorf("%s left %v, %v", what, left, err)
		}
	}
	if err := errors.Join(folder.Delete(ctx, "days/a/1"), folder.Delete(ctx, "days/a/1")); err != nil {
		t.Errorf("deleting twice: got %v, want no error", err)
	}
	content, err := archive.ReadObject(ctx, folder, "days/b/1")
	if err != nil || !slices.Equal(content, []byte("days/b/1")) {
		t.Errorf("read: got %q, error %v", content, err)
	}
}
