package prediction

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/plaintext"
)

// maxWord is the longest word, in bytes, that a search index holds.
const maxWord = 2046

// terms are what a search index finds a prediction by: on Postgres the keys of its words, on SQLite the words, joined with
// spaces. They are cut here, so that both databases find the same. Either is sorted and lists nothing twice.
type terms struct {
	keys  []int64
	words string
}

func termsOf(db bun.IDB, title, thesis string) terms {
	words := wordsOf(title, thesis)
	if database.IsPostgres(db) {
		return terms{keys: sorted(wordKeys(words))}
	}
	return terms{words: strings.Join(sorted(words), " ")}
}

func wordsOf(title, thesis string) []string { return append(cutWords(title), cutWords(thesis)...) }

func sorted[T cmp.Ordered](list []T) []T {
	slices.Sort(list)
	return slices.Compact(list)
}

// wordKeys returns the numbers that Postgres indexes in place of words, because it compares them faster; see
// docs/decisions/0010-libraries-and-engines.md. The key of a word is its XXH64, made negative, because the keys of spans
// aren't. Two words have the same key with a probability of 2^-63.
func wordKeys(words []string) []int64 {
	keys := make([]int64, len(words))
	for i, word := range words {
		keys[i] = int64(xxhash.Sum64String(word) | 1<<63)
	}
	return keys
}

// cutWords splits a text into lower-case words, as plaintext.Fold separates them.
func cutWords(text string) []string {
	words := strings.Fields(plaintext.Fold(text))
	return slices.DeleteFunc(words, func(word string) bool { return len(word) > maxWord })
}

// indexedWords is a row of SQLite's search index.
type indexedWords struct {
	Row     int64     `bun:",type:bigint"`
	AgentID uuid.UUID `bun:",type:uuid"`
	ID      uuid.UUID `bun:",type:uuid"`
	Words   string    `bun:",type:text"`
}

// insertWords adds an indexedWords. If its row is taken, it takes the next free one.
const insertWords = `INSERT INTO prediction_words (rowid, agent_id, id, words) VALUES ((
	WITH RECURSIVE free (n) AS (SELECT $1 UNION ALL SELECT n + 1 FROM free WHERE EXISTS (SELECT 1 FROM prediction_words AS w WHERE w.rowid = n))
	SELECT MAX(n) FROM free), $2, $3, $4)`

// rowOf returns the row of SQLite's search index for an id, which is the time in the id in quarters of a microsecond. A
// search returns rows in their order, and so the newest predictions first, whenever they were revealed.
func rowOf(id uuid.UUID) int64 {
	time := binary.BigEndian.Uint64(id[:8])
	return int64(time>>16<<12 | time&0xfff)
}

// keyedWords is a row of Postgres's search index.
type keyedWords struct {
	AgentID uuid.UUID `bun:",type:uuid"`
	ID      uuid.UUID `bun:",type:uuid"`
	Words   []int64   `bun:",type:bigint[]"`
}

// wordsWrite makes predictions searchable. SQLite requires a separate table, and finds its rows only by their words. So
// each row there also has its id as a word; see deleteWords.
func wordsWrite(tx bun.Tx, rows []newWords) database.Write {
	if database.IsPostgres(tx) {
		keyed := make([]keyedWords, len(rows))
		for i, r := range rows {
			keyed[i] = keyedWords{r.AgentID, r.ID, slices.Concat(r.keys, spansOf(r.ID))}
		}
		return database.NewInsert("prediction_words", keyed, "")
	}
	rows = slices.SortedFunc(slices.Values(rows), func(a, b newWords) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	indexed := make([]indexedWords, len(rows))
	for i, r := range rows {
		indexed[i] = indexedWords{rowOf(r.ID), r.AgentID, r.ID, r.words + " " + idWord(r.ID)}
		if i > 0 { // agents may publish at the same time
			indexed[i].Row = max(indexed[i].Row, indexed[i-1].Row+1)
		}
	}
	return database.NewEach(insertWords, indexed)
}

// idWord returns an id as one word of a search index. No text contains it, because cutWords cuts words at its sign.
func idWord(id uuid.UUID) string { return "§" + hex.EncodeToString(id[:]) }

// deleteWords makes predictions of an agent unsearchable. On SQLite, it reads the whole index if one of the revealed
// predictions was stored without its id as a word.
func deleteWords(ctx context.Context, tx bun.Tx, agentID uuid.UUID, list []Prediction) error {
	ids, words, revealed := make([]uuid.UUID, len(list)), make([]string, len(list)), int64(0)
	for i := range list {
		ids[i], words[i] = list[i].ID, `"`+idWord(list[i].ID)+`"`
		if !list[i].Unrevealed {
			revealed++
		}
	}
	theirs := func() *bun.DeleteQuery {
		return tx.NewDelete().Table("prediction_words").Where("agent_id = ?", agentID).Where("id IN (?)", bun.List(ids))
	}
	if !database.IsPostgres(tx) {
		found := tx.NewSelect().Table("prediction_words").Column("rowid").Where("prediction_words MATCH ?", strings.Join(words, " OR "))
		res, err := theirs().Where("rowid IN (?)", found).Exec(ctx)
		if err != nil {
			return fmt.Errorf("delete words: %w", err)
		}
		if n, err := res.RowsAffected(); err == nil && n == revealed {
			return nil
		}
	}
	if _, err := theirs().Exec(ctx); err != nil {
		return fmt.Errorf("delete words: %w", err)
	}
	return nil
}

// IndexWords adds the next predictions to the search index, in the order of ids. It is for tables that were
// filled without the index. It takes at most limit with ids greater than after ("" to begin), and returns the last id
// and how many predictions it looked at. It skips predictions that aren't revealed or were erased.
func IndexWords(ctx context.Context, tx bun.Tx, after string, limit int) (last string, looked int, err error) {
	var list []Prediction
	q := tx.NewSelect().Table("predictions").Column("agent_id", "id", "title", "thesis", "unrevealed").Order("id").Limit(int64(limit))
	if after != "" {
		q.Where("id > ?", after)
	}
	if err := q.Scan(ctx, &list); err != nil || len(list) == 0 {
		return after, 0, err
	}
	rows := make([]newWords, 0, len(list))
	for i := range list {
		if p := &list[i]; !p.Unrevealed && !p.erased() {
			rows = append(rows, newWords{p.AgentID, p.ID, termsOf(tx, p.Title, p.Thesis)})
		}
	}
	last = list[len(list)-1].ID.String()
	if len(rows) == 0 {
		return last, len(list), nil
	}
	return last, len(list), database.ExecWrites(ctx, tx, wordsWrite(tx, rows))
}

// MergeWords empties the list of rows that Postgres has not merged into the search index yet. Every search reads
// that list. Publishing merges it too once it is long, and the publishers wait meanwhile. MergeWords merges
// the indexes that the database's role may merge. It is for Postgres only.
func MergeWords(ctx context.Context, db *database.DB) error {
	_, err := db.ExecContext(ctx, `SELECT gin_clean_pending_list(i.indexrelid) FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
		WHERE c.relam = (SELECT oid FROM pg_am WHERE amname = 'gin') AND c.relkind = 'i' AND pg_has_role(c.relowner, 'USAGE')
		AND (i.indrelid = 'prediction_words'::regclass
			OR i.indrelid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'prediction_words'::regclass))`)
	if err != nil {
		return fmt.Errorf("merge search words: %w", err)
	}
	return nil
}
