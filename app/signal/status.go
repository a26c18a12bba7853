package signal

import "time"

// Status describes what a node serves of a feed.
type Status struct {
	Name    string    // "markets" or "news"
	AsOf    time.Time // when the snapshot was taken; zero before the first
	Stale   bool      // older than three intervals, or there is none
	Records int
	Source  string // the source of the snapshot; empty before the first one
}

// Status returns the feed's status on this node.
func (f *Feed[T]) Status() Status {
	s := f.Current()
	return Status{Name: f.Name(), AsOf: s.AsOf, Stale: f.Stale(), Records: len(s.Records), Source: s.Source}
}
