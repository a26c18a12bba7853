// Package update keeps a log of everything that happens, in one order, for streams and for agents
// that poll.
//
// # From a change to a reader
//
//	a transaction changes something ── Record ──> update_outbox   one row, without a number
//	Sequencer, on one node, every 250 ms     ──> update_chunks   all updates, for 24 hours
//	                                          ├─> updates         those of an agent's own predictions, for 30 days
//	                                          └─> shared_updates  those of markets and assignments, for 30 days
//
// Record writes an update in the transaction of its change, so that both are committed together.
// It assigns no number, because transactions don't always commit in the order in which they took
// numbers, and a reader would then skip an update. The Sequencer numbers committed updates. Each of
// its transactions locks the row of update_head, so it commits before the next one reads the
// outbox. After a reader has seen number n, no lower number appears.
//
// The Sequencer's transaction moves rows from the outbox to the log. A crash leaves both unchanged.
//
// # Texts
//
// An update contains ids and numbers, and no text of an agent or an upstream. So it needs no
// redaction for hidden predictions, for closed accounts, or for a reader that is a language model.
// Before its reveal, a prediction has no numbers in an update either.
package update
