package database

// KeptStatements is how many statements a pool of SQLite keeps.
const KeptStatements = keptStatements

// BoundValues returns how many values p passes beside the text of its query.
func BoundValues(p *Planned) int { return len(p.args) - p.first }

// Statements returns how many statements db.Reader keeps, and how many of them are in use.
func Statements(db *DB) (kept, used int) {
	s := db.Reader.Dialect().(preparing).statements
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, each := range s.kept.Values() {
		if each.users > 0 {
			used++
		}
	}
	return s.kept.Len(), used
}
