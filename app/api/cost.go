package api

import "github.com/pulsecast/pulsecast/app/httpserver"

// shared is the cost of an answer that is everyone's if the query has no parameters, and costs
// otherwise.
func shared(plain bool, otherwise httpserver.Cost) httpserver.Cost {
	if plain {
		return httpserver.Shared
	}
	return otherwise
}

// worded is the cost of a list that may be searched for words.
func worded(words string) httpserver.Cost {
	if words != "" {
		return httpserver.Search
	}
	return httpserver.Listing
}
