// Package worker runs jobs at intervals, each on one node at a time.
//
// A lease decides which node runs a job. It is a row with a holder and an expiry:
//
//	free or expired --acquire--> held --renew, three times per life--> held
//	held --holder stops--> free            (released, so another node takes over at once)
//	held --run hands it over--> free       (HandOver; this holder doesn't try again for a while)
//	held --job fails twice--> expired      (Job.Outbound; after the pause, and this holder waits for others)
//	held --holder dies---> expired         (the next node that tries takes over)
//	held --another node has it--> lost     (the running job is cancelled)
//
// The life of a lease is three quarters of the job's interval, but at most 20 seconds. Other nodes try
// to acquire it four times per life, so the job of a dead holder runs again within two intervals.
// Postgres compares expiries by its own clock, so the nodes' clocks don't matter. SQLite has only one
// node. A node that loses its lease may still finish a run while another node starts one. Jobs tolerate
// this, because their writes are idempotent.
package worker
