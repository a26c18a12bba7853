// Package archive keeps everything that was observed. Each reading of a source becomes
// segments in the database, in the transaction that stores it. A job seals each UTC day: it
// writes the day's segments, and what the domain exports of that day, to Parquet files, reads
// them back, and deletes the segments. Prices are thinned and news is pruned only up to the last
// sealed day.
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
//	days/2026-11-21/texts.json               the files of texts as they are now
//	days/2026-11-21/redactions.json          what was erased from them, and why
//	days/2026-11-21/segments.json            ids of the segments that the day was made of
//	days/2026-11-21/unreadable/…             segments that could not be decoded, as they were
//
// # Chain and erasure
//
// A manifest names the SHA-256 of each of its files and of the manifest of the day before, so a
// changed or missing day is found. Texts, names and authors are not in those files. A row that
// has any carries the SHA-256 over a random salt and the texts; salt and texts are in a file
// under texts, which can be rewritten without them. Each row whose texts are missing must be named
// in redactions.json.
package archive
