package generation

import "time"

// SetClock replaces the clock, before AddReplica.
func (w *Watcher) SetClock(now func() time.Time) { w.now = now }
