package dbtest

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/pulsecast/pulsecast/migrations"
)

// Class says how a table would be spread over a cluster; see docs/decisions/0001-schema.md.
type Class string

// The classes.
const (
	ByAgent   Class = "By agent"  // grows with predictions; every key contains agent_id
	ByMarket  Class = "By market" // grows with markets; every key begins with market_id
	Reference Class = "Reference" // small, joined from everywhere
	Local     Class = "Local"     // read only by its owner
)

// Table is what the migrations' comments say about a table or view.
type Table struct {
	Class Class
	Owner string // the package below app that alone reads and writes the table
	View  bool
}

var (
	created  = regexp.MustCompile(`^CREATE (?:VIRTUAL )?(?:TABLE|VIEW) (\w+)`)
	declared = regexp.MustCompile(`(By agent|By market|Reference|Local); owner (\w+)\.$`)
)

// Catalogue reads the class and the owner of every table and view from the comments of the
// migrations. It fails if a table lacks such a comment.
func Catalogue() (map[string]Table, error) {
	names, err := fs.Glob(migrations.Files, "*.up.sql")
	if err != nil {
		return nil, err
	}
	tables := map[string]Table{}
	for _, name := range names {
		content, err := migrations.Files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if err := catalogue(tables, string(content)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return tables, nil
}

func catalogue(tables map[string]Table, sql string) error {
	comment := ""
	for line := range strings.Lines(sql) {
		line = strings.TrimSpace(line)
		text, isComment := strings.CutPrefix(line, "-- ")
		found := created.FindStringSubmatch(line)
		switch {
		case isComment:
			comment += text + " "
		case found != nil:
			name := found[1]
			said := declared.FindStringSubmatch(strings.TrimSpace(comment))
			if said == nil || !strings.HasPrefix(strings.TrimSpace(comment), name+": ") {
				return fmt.Errorf("table %s needs a comment %q", name, name+": what it holds. Class; owner package.")
			}
			tables[name] = Table{Class(said[1]), said[2], strings.HasPrefix(line, "CREATE VIEW")}
		case line == "": // a comment holds for all statements up to the next empty line
			comment = ""
		}
	}
	return nil
}
