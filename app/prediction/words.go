package prediction

import (
	"slices"
	"strings"
	"unicode"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// maxWord is the length in bytes above which Postgres refuses a word of a search index.
const maxWord = 2046

// searchWords joins wordsOf a prediction, as the index takes them.
func searchWords(title, thesis string) string { return strings.Join(wordsOf(title, thesis), " ") }

// wordsOf lists the different words that a prediction is found by, in order. They are cut
// here: Postgres by itself keeps addresses, versions and signed numbers whole, and takes
// longer.
func wordsOf(title, thesis string) []string {
	words := append(cutWords(title), cutWords(thesis)...)
	slices.Sort(words)
	return slices.Compact(words)
}

// cutWords cuts a text at whatever is no letter or digit, in lower case.
func cutWords(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.DeleteFunc(words, func(word string) bool { return len(word) > maxWord })
}

// wordsWrite makes predictions searchable, in a table of its own as SQLite wants it.
func wordsWrite(tx bun.Tx, rows []newWords) database.Write {
	words := "words"
	if database.IsPostgres(tx) {
		words = "words::tsvector"
	}
	return database.NewWrite("INSERT INTO prediction_words (agent_id, id, words) SELECT agent_id, id, "+words+" FROM v", rows)
}

// whereWords keeps the rows of prediction_words AS w that hold every word.
func whereWords(q *bun.SelectQuery, words string) {
	terms := cutWords(words)
	if database.IsPostgres(q.DB()) {
		q.Where("w.words @@ ?::tsquery", strings.Join(terms, " & "))
	} else {
		q.Where("prediction_words MATCH ?", `"`+strings.Join(terms, `" "`)+`"`)
	}
}
