package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// Words is the number of different words in the theses.
const Words = 4000

// Word returns a word of the theses by its number, 0..Words-1. Lower numbers are more frequent, as
// in any language.
func Word(i int) string {
	const syllables = "kalomirentasuvernopidraeluost"
	word := ""
	for n := i + 14; n > 0; n /= 14 {
		word += syllables[n%14*2 : n%14*2+2]
	}
	return word
}

// thesis returns thirty words that depend only on the number of a prediction.
func thesis(number int) string {
	r := rand.New(rand.NewPCG(uint64(number), 0))
	words := make([]string, 30)
	for i := range words {
		words[i] = Word(int(Words * r.Float64() * r.Float64()))
	}
	return strings.Join(words, " ")
}

// IndexWords adds the loaded predictions to the search index over titles and theses, two thousand at a time.
func IndexWords(ctx context.Context, db *database.DB) error {
	const most = 2000
	after := ""
	for looked := most; looked == most; {
		err := db.InTx(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
			after, looked, err = prediction.IndexWords(ctx, tx, after, most)
			return err
		})
		if err != nil {
			return fmt.Errorf("load: index words: %w", err)
		}
	}
	if db.Kind == database.SQLite {
		return nil
	}
	if _, err := db.ExecContext(ctx, "ANALYZE prediction_words"); err != nil {
		return fmt.Errorf("load: index words: %w", err)
	}
	return prediction.MergeWords(ctx, db) // as the job of a node does every second
}
