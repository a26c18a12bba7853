// Package ingest runs the ticks of the sources. A tick reads a source, stores the reading and publishes it as a
// snapshot. If a source fails, the last good snapshot stays until a better one replaces it, and the state of
// the feed shows the failure.
package ingest
