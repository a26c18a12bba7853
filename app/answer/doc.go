// Package answer keeps encoded answers in memory until their data changes.
//
// A copy records the values of its topics from before it was made. It is good while its topics have
// these values, and for at most Query.Fresh, because some answers also depend on the time. If a
// copy isn't good, one caller makes a new one, and all other callers wait for that. With
// Query.Background, no caller waits if the previous copy was good within the last Options.Late.
//
// A caller that needs to see its own writes calls generation.Watcher.Check and then sets
// Query.Current. While a copy is being made, other callers may get the previous one if it was good
// within the last Options.Late.
//
// Memory is bounded by bytes. Main copies are kept apart from all others, and copies that were
// requested once from copies that were requested again. So many different queries can't evict the
// popular answers, and no query can evict the main ones.
package answer
