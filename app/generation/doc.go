// Package generation lets every node see when data that the service shows has changed.
//
// Each topic has a value in the database that only grows. A transaction that changes data under
// a topic also moves the topic (Move), which increases its value. So the change and the move
// become visible together. Each node has a Watcher, which reads all values every 100 ms and
// keeps them as a Stamp. A copy of data is good while the topics that it depends on have the
// values that they had before the copy was begun.
//
// A topic's value is the sum of several rows, its slots. A transaction increments a slot that
// no other transaction holds, or adds a slot if all are held. So moving a topic never waits.
// The number of slots is the greatest number of transactions that ever moved the topic at once.
package generation
