// Package settlement turns what markets show into scores: it fixes what a prediction
// is held against, decides what happened, and moves the sums that the ranking reads.
//
// # The life of a prediction
//
//	pending ── the price after it (score.CountsAfter) ──> fixed    q, its bounds, the weight
//	        └─ none in time, or the market closed ──────> missed   a Brier score, never ranked
//
//	open ── the market settles, or an admin ──> resolved  + a row "score"
//	     └─ 50/50, late, or an admin ─────────> void
//	resolved ── corrected, reopened or voided ──> …       + a row "reversal" first
//
// # Exactly once
//
// What a market's closing decided is one row of market_outcomes with a revision.
// From it follows where each prediction of the market must stand, and every chunk of
// work moves only those that stand elsewhere: it can be stopped after any chunk,
// repeated, or done by two workers, and ends the same. A chunk is one short transaction
// that locks its agents, reads their predictions as they stand then, changes each only from
// the status it was read in, and writes ledger rows under the unique (prediction, seq). The
// reference rows of the market are a step by themselves. The outcome is marked applied in a
// last step, when no prediction is left to move. Only that step waits for the disk: it takes
// those before it along, and without it a restart moves again whatever a crash took back.
//
// # Locks
//
// An agent's tally row stands for all that moves with its predictions: results, clusters,
// days and ledger rows. SQLite has one writer; on Postgres a transaction takes its locks in
// this order, so that none is part of a deadlock:
//
//  1. the ledger (advisory): shared, or exclusive for a rebuild
//  2. the market's outcome: shared while predictions move, so that a ruling comes between
//     two steps
//  3. the tallies of its agents in ascending order, or the reference agents (advisory)
//
// Publishing takes tallies alone. Workers on markets of other agents don't wait for each
// other, except for the few milliseconds of a reference step.
//
// The ledger (score_entries) is only ever appended to. A reversal repeats the row it
// takes back with its amounts negated, so that what stands is the sum. Each row names
// the category and the day it counts under, so that the ledger and the predictions'
// baselines are all that Rebuild needs.
//
// # Sums
//
// All sums are integers: points in 1/10,000, Brier scores in 1e-8, log edges in
// 1e-6 bits, confidences and results in 1e-9. A settlement adds a difference and a
// reversal takes the same one away, in any order.
package settlement
