package market

import "slices"

// Batch is a part of one reading, ready to be stored with Store.ObserveBatch. The batches of a reading can be stored
// in separate transactions: each market is in one batch, and each event is stored before its markets.
type Batch struct {
	Markets []Market

	events []Event // given or derived
}

// Events returns the events of the batch without those that were derived from markets.
func (b *Batch) Events() []Event {
	return slices.DeleteFunc(slices.Clone(b.events), func(e Event) bool { return e.derived })
}

// Batches divides a reading into batches of at most size markets. It derives missing events from all markets of the
// reading, so the size doesn't change what is stored. An event is in the first batch that has one of its markets.
// Events without a market in the reading are spread over the batches. Batches panics if size is below 1.
func Batches(markets []Market, events []Event, size int) []Batch {
	list := prepared(markets)
	events = eventsOf(list, events)
	nameEvents(list, events)
	var batches []Batch
	first := map[string]int{}
	for part := range slices.Chunk(list, size) {
		for i := range part {
			if _, seen := first[part[i].EventID]; !seen {
				first[part[i].EventID] = len(batches)
			}
		}
		batches = append(batches, Batch{Markets: part})
	}
	if len(batches) == 0 && len(events) > 0 {
		batches = make([]Batch, 1)
	}
	for i, e := range events {
		in, found := first[e.ID]
		if !found {
			in = i % len(batches)
		}
		batches[in].events = append(batches[in].events, e)
	}
	return batches
}
