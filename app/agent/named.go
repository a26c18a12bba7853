package agent

import (
	"strings"

	"github.com/uptrace/bun"
)

// likely is the pattern of a text in agent_labels, a narrow table of handles and names
// in lower case that triggers keep: to lower the case of every name took most of the
// time of a search.
func likely(words string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(strings.ToLower(words)) + "%"
}

// Named narrows a query over agents AS a to those whose handle or name contains some
// words, ignoring case. It reads every label once.
func Named(q *bun.SelectQuery, words string) *bun.SelectQuery {
	return q.Where(`a.id IN (SELECT l.agent_id FROM agent_labels AS l WHERE l.label LIKE ? ESCAPE '\')`, likely(words))
}

// NamedOften is Named for words that many have: it looks at one agent after another,
// until the query has enough.
func NamedOften(q *bun.SelectQuery, words string) *bun.SelectQuery {
	return q.Join(`JOIN agent_labels AS l ON l.agent_id = a.id AND l.label LIKE ? ESCAPE '\'`, likely(words))
}
