package signal

import "time"

// Status is what a node serves of a feed.
type Status struct {
	Name    string    // "markets" or "news"
	AsOf    time.Time // when the snapshot was taken; zero before the first
	Stale   bool      // older than three intervals, or there is none
	Records int
	Source  string // which source the snapshot came from; empty before the first
}

// Status returns what this node serves now.
func (f *Feed[T]) Status() Status {
	s := f.Current()
	return Status{Name: f.Name(), AsOf: s.AsOf, Stale: f.Stale(), Records: len(s.Records), Source: s.Source}
}
