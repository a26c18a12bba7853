// Package archive keeps everything that was observed. Each reading of a source is stored as segments
// in the database, in the transactions that store the reading. A job seals each UTC day. It writes
// the day's segments, and the tables that the domain exports for that day, to Parquet files. It
// reads the files back and then deletes the segments. Prices are thinned and news is pruned only up
// to the last sealed day.
//
// # Layout
//
// An archive and a data release have the same layout:
//
//	days/2026-11-21/manifest.json            what the day holds; never changes
//	days/2026-11-21/prices-polymarket.parquet
//	days/2026-11-21/news-hackernews.parquet
//	days/2026-11-21/…                        the tables of Tables, one file for each source
//	days/2026-11-21/texts/news-hackernews.parquet
//	days/2026-11-21/texts.json               the current state of the text files
//	days/2026-11-21/redactions.json          the erased records, and why
//	days/2026-11-21/segments.json            ids of the segments in the day
//	days/2026-11-21/unreadable/…             bytes of segments that could not be decoded
//
// # Chain and erasure
//
// A manifest names the SHA-256 of each of the day's Parquet files and of the manifest of the day
// before, so that a changed or missing day is detected. Those files contain no texts, names or
// authors. A row with texts carries the SHA-256 of a random salt and the texts. Salts and texts are
// in separate files under texts, which an erasure rewrites. Each row whose texts are missing must be
// named in redactions.json.
//
// # Restored databases
//
// A database that is restored from a backup lacks the days that were sealed after the backup. The
// restore has undone the decisions in them, which are the rows of exported tables. A Sealer finds
// such days in the storage and records them as abandoned. The next day that it seals says so in its
// manifest, and exports again what the database holds of these days. See Manifest.AbandonedFrom.
package archive
