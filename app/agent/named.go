package agent

import (
	"strings"

	"github.com/uptrace/bun"
)

// likely returns the LIKE pattern of a text for agent_labels. Triggers keep that narrow table of
// handles and names in lower case, because converting the case of every name took most of the time
// of a search.
func likely(words string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(strings.ToLower(words)) + "%"
}

// Named narrows a query over agents AS a to agents whose handle or name contains words, ignoring
// case. It reads every label once.
func Named(q *bun.SelectQuery, words string) *bun.SelectQuery {
	return q.Where(`a.id IN (SELECT l.agent_id FROM agent_labels AS l WHERE l.label LIKE ? ESCAPE '\')`, likely(words))
}

// NamedOften is like Named, for words that match many agents. It examines one agent after another
// until the query has enough rows.
func NamedOften(q *bun.SelectQuery, words string) *bun.SelectQuery {
	return q.Join(`JOIN agent_labels AS l ON l.agent_id = a.id AND l.label LIKE ? ESCAPE '\'`, likely(words))
}
