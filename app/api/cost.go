package api

import "github.com/pulsecast/pulsecast/app/httpserver"

// shared returns the cost Shared for a query without parameters, whose answer is the same for every caller.
// For any other query it returns otherwise.
func shared(plain bool, otherwise httpserver.Cost) httpserver.Cost {
	if plain {
		return httpserver.Shared
	}
	return otherwise
}

// worded returns the cost of a list that may be searched for words.
func worded(words string) httpserver.Cost {
	if words != "" {
		return httpserver.Search
	}
	return httpserver.Listing
}
