package agent

import "strings"

// likely is the pattern of a text in agent_labels, a narrow table of handles and names
// in lower case that triggers keep: to lower the case of every name took most of the
// time of a search.
func likely(words string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(strings.ToLower(words)) + "%"
}
