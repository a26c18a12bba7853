package database

import "database/sql"

// KeptStatements is how many statements a connection to SQLite keeps.
const KeptStatements = keptStatements

// BoundValues returns how many values p passes beside the text of its query.
func BoundValues(p *Planned) int { return len(p.args) - p.first }

// Statements returns how many statements a connection keeps.
func Statements(conn *sql.Conn) (kept int) {
	_ = conn.Raw(func(driver any) error { kept = driver.(*preparingConn).kept.Len(); return nil })
	return kept
}
