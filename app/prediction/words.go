package prediction

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// indexWords makes the text searchable, in a table of its own as SQLite wants it. The
// words are cut here: Postgres by itself keeps addresses, versions and signed numbers
// whole.
func indexWords(ctx context.Context, tx bun.Tx, p *Prediction) error {
	sql := "INSERT INTO prediction_words (agent_id, id, title, thesis) VALUES (?, ?, ?, ?)"
	if database.IsPostgres(tx) {
		sql = "INSERT INTO prediction_words (agent_id, id, words) VALUES (?, ?, to_tsvector('simple', ? || ' ' || ?))"
	}
	_, err := tx.ExecContext(
		ctx, sql, p.AgentID, p.ID, strings.Join(wordsOf(p.Title), " "), strings.Join(wordsOf(p.Thesis), " "),
	)
	if err != nil {
		return fmt.Errorf("index prediction: %w", err)
	}
	return nil
}

// wordsOf cuts a text at whatever is no letter or digit.
func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// whereWords keeps the rows of prediction_words AS w that hold every word.
func whereWords(q *bun.SelectQuery, words string) {
	terms := wordsOf(words)
	if database.IsPostgres(q.DB()) {
		q.Where("w.words @@ plainto_tsquery('simple', ?)", strings.Join(terms, " "))
	} else {
		q.Where("prediction_words MATCH ?", `"`+strings.Join(terms, `" "`)+`"`)
	}
}
