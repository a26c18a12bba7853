package agent

import "strings"

// likely returns the LIKE pattern of a text for agent_labels. Triggers keep that narrow table of
// handles and names in lower case, because converting the case of every name took most of the time
// of a search.
func likely(words string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(strings.ToLower(words)) + "%"
}
