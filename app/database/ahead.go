package database

import "time"

// maxAhead is far more than what the clocks of two nodes may differ by.
const maxAhead = time.Hour

// LatestPlausible returns the latest time that a row stored by now may bear, an hour after now. A later time was stored
// while a clock was ahead. Without this limit, such a row would keep out all newer ones until its time has come.
func LatestPlausible(now time.Time) time.Time { return Now(now).Add(maxAhead) }
