// Package signal is the signal cache. For each feed it holds the newest reading, encoded once and served
// without further encoding.
//
// A Snapshot never changes after it is built. It holds the records in order, and one buffer with their encoded
// forms. The body for any limit is a slice of the buffer plus the closing bytes. Complete bodies and their
// compressed forms are kept in the snapshot once they are made. A Feed points to the current snapshot, and a
// tick replaces it. Serving needs no database and no network. A list without filters needs no lock either. For a
// filtered list that is sent compressed, Matching takes a short lock to look for one made before. It asks its caller
// for admission before it compresses a new one.
//
// A Replicator carries snapshots between nodes. The node that read the source writes each snapshot to the
// database and to the shared cache. The other nodes look there every few seconds. A node that starts loads the
// stored snapshot. A snapshot is never replaced by an older one.
//
// A snapshot offers every answer in several content codings. Each is a Form with a separate ETag. The edge
// chooses one by the request's headers and sends it.
package signal
