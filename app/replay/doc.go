// Package replay serves the service as of a past moment, from an archive. The moment T is in the
// address, /r/{run}/at/{T}/…, and moves only when a caller asks for another one.
//
// # Worlds
//
// Each run and T is a world: a small SQLite file with what was observed up to T, and a whole
// app.App on it whose clock stands at T. So every operation works through the code that serves
// live. What was observed later can't leak, because it is not in the file: no closed market, no
// outcome, no score, no board, no other agent. Worlds don't see each other, so requests at
// different moments may come in any order and in parallel. The file of a world is the record of
// what the run's agent published at T.
//
// # Ids
//
// The ids of predictions follow from the run, T, and the Idempotency-Key or the body: see
// prediction.Publisher.Seed. T is the moment of publication. The clock of this machine plays no
// part.
//
// # Report
//
// The report loads the predictions of all worlds of a run into an empty database, lets the
// ordinary settlement and leaderboard code live through the archive's days after them, and reads
// the record that follows. Only the operator's token opens it: to the agent it would be an oracle.
package replay
