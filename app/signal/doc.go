// Package signal is the signal cache: for each feed the newest reading, encoded once
// and served as it is.
//
// A Snapshot never changes after it is built. It holds the records in order and one
// buffer with their encoded forms, so that the body for any limit is a slice of the
// buffer plus the closing bytes; complete bodies and their compressed forms are kept
// in the snapshot once made. A Feed points at the current snapshot; a tick swaps in
// the next. Serving touches no lock, database or network.
//
// A Replicator carries snapshots between nodes: the node that read the source writes
// each one to the database and the shared cache, the others look there every few
// seconds, and a node that starts takes up what is there. Whatever the way, a
// snapshot is never replaced by an older one.
//
// A snapshot offers every answer in several content codings, each a Form with its own
// ETag. The edge chooses one by the request's headers and sends it.
package signal
