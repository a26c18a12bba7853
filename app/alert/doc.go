// Package alert tells an operator by webhook when something needs a person: one
// message when it begins, one when it is over.
//
// What is going on is kept in the table alerts, so that neither a restart nor
// another node repeats a message. A row is one alert:
//
//	(none) --condition holds--> firing, untold --delivered--> firing, told
//	firing, untold --condition is over--> (none)            nobody heard of it
//	firing, told --condition is over--> over, untold --delivered--> (none)
//	over, untold --condition holds again--> firing, told    they think it is on
//
// Where a message cannot be delivered, the next tick tries again. A crash between a
// delivery and noting it repeats that one message.
//
// A database that is down stops this too, since the lease and the state live there. Outage
// reports it from each node without the database.
package alert
