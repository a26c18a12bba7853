package prediction

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// maxWord is the length in bytes above which Postgres refuses a word of a search index.
const maxWord = 2046

// searchWords lists the different words of a text that it is found by, in order. They are
// cut here: Postgres by itself keeps addresses, versions and signed numbers whole, and takes
// longer.
func searchWords(title, thesis string) string {
	words := append(wordsOf(title), wordsOf(thesis)...)
	slices.Sort(words)
	return strings.Join(slices.Compact(words), " ")
}

// wordsOf cuts a text at whatever is no letter or digit, in lower case.
func wordsOf(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.DeleteFunc(words, func(word string) bool { return len(word) > maxWord })
}

// insertWords makes predictions searchable, in a table of its own as SQLite wants it.
func insertWords(ctx context.Context, tx bun.Tx, rows []newWords) error {
	words := "words"
	if database.IsPostgres(tx) {
		words = "words::tsvector"
	}
	_, err := database.ExecPlannedRows(ctx, tx, "INSERT INTO prediction_words (agent_id, id, words) SELECT agent_id, id, "+words+" FROM v", rows)
	if err != nil {
		return fmt.Errorf("index predictions: %w", err)
	}
	return nil
}

// containsWords keeps predictions whose title and thesis hold every word.
func containsWords(q *bun.SelectQuery, words string) *bun.SelectQuery {
	terms := wordsOf(words)
	if len(terms) == 0 {
		return q.Where("1 = 0")
	}
	if database.IsPostgres(q.DB()) {
		return q.Where("(p.agent_id, p.id) IN (SELECT w.agent_id, w.id FROM prediction_words AS w WHERE w.words @@ ?::tsquery)", strings.Join(terms, " & "))
	}
	return q.Where("(p.agent_id, p.id) IN (SELECT agent_id, id FROM prediction_words WHERE prediction_words MATCH ?)", `"`+strings.Join(terms, `" "`)+`"`)
}
