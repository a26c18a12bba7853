package database

import "database/sql"

// RefusePooler returns an error if conn may not lead to a replica.
var RefusePooler = refusePooler

// ErrPooledReplica is the error of RefusePooler about a pooler.
var ErrPooledReplica = errPooledReplica

// KeptStatements is how many statements a connection to SQLite keeps.
const KeptStatements = keptStatements

// BoundValues returns how many values p passes beside the text of its query.
func BoundValues(p *Planned) int { return len(p.args) - p.first }

// Statements returns how many statements a connection keeps.
func Statements(conn *sql.Conn) (kept int) {
	_ = conn.Raw(func(driver any) error { kept = driver.(*preparingConn).kept.Len(); return nil })
	return kept
}
