// Package update keeps what happens in one log, in one order, for agents that look now and
// then and for streams.
//
// # From a change to a reader
//
//	a transaction changes something ── Record ──> update_outbox   one row, without a number
//	Sequencer, on one node, every 250 ms     ──> update_chunks   all updates, for 24 hours
//	                                          ├─> updates         those of an agent's own predictions, for 30 days
//	                                          └─> shared_updates  those of markets and assignments, for 30 days
//
// Record writes with the change it tells of, so neither exists without the other. It takes no
// number: transactions that commit in another order than they took numbers would make a
// reader skip one. The Sequencer numbers what is committed. Its transactions lock the row of
// update_head, so each commits before the next one reads the outbox. A reader that has seen
// number n never finds a lower one later that it has not seen.
//
// The Sequencer's transaction takes rows out of the outbox and writes them to the log. A
// crash leaves both as they were.
//
// # Texts
//
// An update names things by id and carries numbers. It holds no text that an agent or an
// upstream has written, so it needs no redaction: not of hidden predictions, not of erased
// accounts, and not for a reader that is a language model. What isn't revealed yet has no
// numbers either.
package update
