package archive_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/pulsecast/pulsecast/app/archive"
)

// TestHostileFiles checks that each broken file of prices gives an error with its name and no
// panic. The hash in the manifest doesn't protect against this: an attacker who edits one file can
// edit the other, too.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	type wrong struct {
		Market     int64   `parquet:"market"`
		ObservedAt string  `parquet:"observed_at"`
		Prices     float64 `parquet:"prices"`
		BestBid    []byte  `parquet:"best_bid"`
	}
	type nested struct {
		Market struct {
			A []string `parquet:"a,list"`
		} `parquet:"market"`
		Prices map[string]float64 `parquet:"prices"`
	}
	files := map[string][]byte{
		"empty": {}, "magic": []byte("PAR1PAR1"), "footer": []byte("PAR1\xff\xff\xff\x7fPAR1"), "negative": []byte("PAR1\xff\xff\xff\xffPAR1"),
		"types": parquetOf(t, wrong{Market: 1, ObservedAt: "x", BestBid: []byte{1}}), "nested": parquetOf(t, nested{}),
		"others": parquetOf(t, struct{ X int }{1}), "texts": parquetOf(t, archive.TextRow{Record: "a"}),
	}
	good := parquetOf(t, priceRow("a", 1), priceRow("b", 2), priceRow("b", 3))
	dice := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		bad := bytes.Clone(good)
		for range 1 + dice.IntN(4) {
			bad[dice.IntN(len(bad))] = byte(dice.Uint32())
		}
		files[fmt.Sprint("flipped ", i)] = bad
	}
	for name, content := range files {
		if err := readPrices(t, content); err != nil && !strings.HasPrefix(err.Error(), "days/2026-11-21/prices-x.parquet: ") {
			t.Errorf("%s: the error doesn't name the file: %v", name, err)
		} else if err == nil && !strings.HasPrefix(name, "flipped") {
			t.Errorf("%s: the broken file was read without an error", name)
		}
	}
}

func parquetOf[T any](t *testing.T, rows ...T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := parquet.Write(&b, rows, parquet.Compression(&parquet.Zstd)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// readPrices makes a day with this content as its file of prices, checks it and reads it.
func readPrices(t *testing.T, content []byte) (err error) {
	t.Helper()
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %.200v", cause)
		}
	}()
	s := memory{
		"days/2026-11-21/prices-x.parquet": content, "days/2026-11-21/texts.json": []byte("[]"), "days/2026-11-21/redactions.json": []byte("[]"),
		"days/2026-11-21/manifest.json": []byte(`{"schema":1,"day":"2026-11-21","files":[{"table":"prices","source":"x","name":"prices-x.parquet","rows":3,"first":"2026-11-21T00:00:00Z","last":"2026-11-21T23:00:00Z","bytes":` +
			fmt.Sprint(len(content)) + `,"sha256":"` + archive.Hash(content) + `"}]}`),
	}
	d, err := archive.OpenDay(t.Context(), s, "2026-11-21")
	if err != nil {
		return err
	}
	if _, err := d.Check(t.Context()); err != nil {
		return err
	}
	var first error
	for _, err := range archive.Rows[archive.PriceRow](t.Context(), d, archive.Prices) {
		if err != nil {
			first = err
		}
	}
	use := func(*archive.PriceRow) bool { return true }
	return cmp.Or(archive.MarketPrices(t.Context(), d, "b", day, day.AddDate(0, 0, 1), use), first)
}

// memory is a Storage in memory.
type memory map[string][]byte

type inMemory struct{ *bytes.Reader }

func (inMemory) Version() string { return "" }
func (inMemory) Close() error    { return nil }

func (m memory) Open(_ context.Context, name string) (archive.Object, error) {
	content, ok := m[name]
	if !ok {
		return nil, archive.ErrNotExist
	}
	return inMemory{bytes.NewReader(content)}, nil
}

func (m memory) List(_ context.Context, prefix string) (list []archive.Info, err error) {
	for name := range m {
		if strings.HasPrefix(name, prefix) {
			list = append(list, archive.Info{Name: name})
		}
	}
	return list, nil
}
