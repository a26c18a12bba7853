// Package answer keeps encoded answers in memory until their data changes.
//
// A copy records the values of its topics from before it was made. It is good while its topics have
// these values, and for at most five seconds, because some answers also depend on the time. If a
// copy isn't good, one caller makes a new one, and all other callers wait for that.
//
// A caller that needs to see its own writes calls generation.Watcher.Check and then sets
// Query.Current. While a copy is being made, other callers may get the previous one if it was good
// within the last 100 ms.
//
// Memory is bounded. Copies that were requested once are kept apart from copies that were requested
// again, so many different queries can't evict the popular answers.
package answer
