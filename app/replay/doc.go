// Package replay serves the service as of a past moment, from an archive. The moment T is in the
// address, /r/{run}/at/{T}/…, and changes only when a caller uses another address.
//
// # Worlds
//
// Each run and T has a world: a small SQLite file with what was observed up to T, and a complete
// app.App on it whose clock stands at T. So every operation uses the same code as the live service.
// Later observations can't leak, because they are not in the file: no closed market, no outcome, no
// score, no board, no other agent. Worlds are separate, so requests at different moments may come in
// any order and in parallel. The file of a world records what the run's agent published at T.
//
// The archive has the settings on which baselines depend, as of when each day was sealed. A world uses those
// of the day of T, and a plan does too. The report settles each day with the settings of that day. The other settings
// are those of the replay.
//
// # Ids
//
// The id of a prediction is derived from the run, T, and the Idempotency-Key or the body: see
// prediction.Publisher.Seed. T is the moment of publication. The clock of this machine isn't used.
//
// # Report
//
// The report loads the predictions of all worlds of a run into an empty database. The ordinary
// settlement and leaderboard code then processes the archive's later days, and the report reads the
// resulting record. It needs the operator's token, because it would show the agent the outcomes.
package replay
