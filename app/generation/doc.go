// Package generation tells every node when what the service shows has changed.
//
// Each topic has a value in the database that only grows. A transaction that changes what
// is shown under a topic also moves the topic (Moved), so the change and the move become
// visible together. Each node has a Watcher, which reads all values every 100 ms and keeps
// them as a Stamp. A copy made from what the database held is good as long as the topics it
// depends on stand where they stood before the copy was begun.
//
// A topic's value is the sum of several rows, its slots. A transaction moves a slot that no
// other transaction holds and adds a slot if all are taken. So moving a topic never waits,
// and there are as many slots as there ever were transactions at the same time.
package generation
