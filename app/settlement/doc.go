// Package settlement scores predictions. It fixes their baselines from market prices, decides the
// outcomes of markets, and updates the sums that the ranking reads.
//
// # The life of a prediction
//
//	pending ── the price after it (score.CountsAfter) ──> fixed    q, its bounds, the weight
//	        └─ no price in time, or the market closed ──> missed   a Brier score, never ranked
//
//	open ── the market settles, or an admin ──> resolved  + a row "score"
//	     └─ 50/50, late, or an admin ─────────> void
//	resolved ── corrected, reopened or voided ──> …       + a row "reversal" first
//
// # Exactly once
//
// The decision about a market is one row of market_outcomes with a revision. It determines the
// status and score that each prediction of the market must have. Each chunk of work moves only the
// predictions that don't match yet. So the work can stop after any chunk, be repeated, or be done
// by two workers, with the same end result.
//
// A chunk is one short transaction. It locks its agents and then reads their predictions. It
// changes a prediction only from the status that it read, and writes ledger entries under the
// unique (prediction, seq). The market's reference rows are a separate step, which also counts the
// events on which something is settled. The last step marks the outcome applied, when all
// predictions are moved. Only that commit waits for the disk, and it makes the earlier ones durable
// too. If a crash loses earlier commits, the outcome isn't marked applied, and a restart moves those
// predictions again.
//
// # Locks
//
// The lock on an agent's tally row covers everything that moves with its predictions: results,
// clusters, days and ledger entries. SQLite has one writer. On Postgres, every transaction takes
// its locks in this order, so that none can deadlock:
//
//  1. the ledger (advisory): shared, or exclusive for a rebuild and the moment of AtOnce
//  2. the market's outcome: shared while predictions move, so that a ruling can come between two
//     steps
//  3. the tallies of its agents in ascending order
//  4. the reference agents and the counts of events (advisory): the reference step, and a ruling on
//     one prediction
//  5. the rows of market_consensus in ascending order, as the last step. A transaction that tries
//     the row of Consensus on a market locks only that market's row, and earlier
//
// Publishing takes tallies, leaving out those that are locked, and then rows of market_consensus,
// both in the same order. Workers on markets with different agents, siblings or not, don't wait for
// each other, with two exceptions. A reference step takes a few milliseconds. And two workers can
// change the same row of market_consensus. This happens if agents of both begin or cease to count and
// have predictions on a third market, or if one worker reveals predictions there. The second worker
// then waits until the first commits, which is the next step of the first.
//
// The ledger (score_entries) is append-only. A reversal repeats the entry it takes back with its
// amounts negated, so a prediction's score is the sum of its entries. Each entry names the category
// and the day it counts under. So Rebuild needs only the ledger and the predictions' baselines.
//
// # Sums
//
// All sums are integers: points in 1/10,000, Brier scores in 1e-8, log edges in 1e-6 bits,
// confidences and results in 1e-9. A settlement adds a difference, and a reversal subtracts the
// same difference. The order doesn't matter.
package settlement
