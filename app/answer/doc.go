// Package answer keeps encoded answers in memory for as long as what they were made from
// stands.
//
// A copy remembers where the topics it depends on stood before it was made. It is good
// while they stand there, and for at most five seconds, since some answers also depend on
// the time. A copy that isn't good is made again by one caller, however many ask for it.
//
// A caller that needs to see its own writes sets Query.Current after it has looked at where
// the topics stand (generation.Watcher.Check). Other callers may get the copy before the
// one that is being made, if it was good 100 ms ago.
//
// Memory is bounded. A copy that was asked for once is kept apart from those that were asked
// for again, so a flood of different questions can't push out what many ask.
package answer
