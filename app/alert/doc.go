// Package alert tells an operator by webhook if something needs a person. It sends one message when
// an alert begins and one when it is over.
//
// The table alerts holds the state, so that neither a restart nor another node repeats a message.
// A row is one alert:
//
//	(none) --condition holds--> firing, untold --delivered--> firing, told
//	firing, untold --condition is over--> (none)            no message was delivered
//	firing, told --condition is over--> over, untold --delivered--> (none)
//	over, untold --condition holds again--> firing, told    the operator still believes so
//
// If a message can't be delivered, the next tick tries again. A crash after a delivery, before it is
// recorded, repeats that one message.
//
// These alerts need the database, which holds the lease and the state. Outage reports a database
// that is down. It runs on each node and doesn't use the database.
package alert
