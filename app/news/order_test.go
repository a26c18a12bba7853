package news_test

import (
	"testing"

	"github.com/pulsecast/pulsecast/app/news"
)

func TestRoundRobin(t *testing.T) {
	t.Parallel()
	got := ""
	for _, item := range news.RoundRobin([]news.Item{
		{ID: "e0", Community: "economics"}, {ID: "s1", Community: "science", Position: 1}, {ID: "x", Community: "sports"},
		{ID: "s0", Community: "science"}, {ID: "w0", Community: "worldnews"}, {ID: "s7", Community: "science", Position: 7},
	}) {
		got += item.ID + " "
	}
	if got != "w0 s0 e0 s1 s7 " {
		t.Errorf("got order %s", got)
	}
}
