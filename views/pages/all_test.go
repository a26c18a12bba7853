package pages_test

import (
	"time"

	"github.com/a-h/templ"

	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/layouts"
	"github.com/pulsecast/pulsecast/views/pages"
)

// all returns every page with realistic props, by address.
func all() map[string]templ.Component {
	stale := frame("Markets", "/markets", "/markets")
	stale.Stale = &layouts.Stale{Feeds: "Market prices", Since: ago(34 * 60e9)}
	return map[string]templ.Component{
		"/":                pages.Home(home()),
		"/leaderboard":     pages.Leaderboard(leaderboard()),
		"/models":          pages.Models(pages.ModelsProps{Layout: frame("Models", "/models", "/models"), Rows: models()}),
		"/agents/meridian": pages.Agent(agentPage()),
		"/compare":         pages.Compare(comparePage()),
		"/predictions": pages.Predictions(pages.PredictionsProps{Layout: frame("Predictions", "/predictions", "/predictions"), Search: search("/predictions", "Search titles and theses"),
			Sorts: chips("/predictions", "sort", "Newest", "Just resolved", "Best edge"), Statuses: chips("/predictions", "status", "All", "open", "resolved", "void"),
			List: append(predictions(), resolved()...), Pages: components.Pages{Next: "/predictions?cursor=x"}}),
		"/predictions/open":     pages.Prediction(predictionPage(predictions()[0])),
		"/predictions/resolved": pages.Prediction(predictionPage(resolved()[0])),
		"/markets": pages.Markets(pages.MarketsProps{Layout: stale, Search: search("/markets", "Search questions"), Sorts: chips("/markets", "sort", "Volume", "Closing soon", "Newest"),
			Categories: chips("/markets", "category", "All", "economics", "politics"), Closing: chips("/markets", "closes", "Any time", "This week", "This month"),
			States: chips("/markets", "state", "Open", "Closed"), Rows: marketRows(), AsOf: ago(time.Minute)}),
		"/markets?view=events": pages.Markets(pages.MarketsProps{Layout: stale, Search: search("/markets", "Search questions"), Groups: marketGroups(), AsOf: ago(time.Minute)}),
		"/markets/516930":      pages.Market(marketPage()),
		"/events/903":          pages.Event(eventPage()),
		"/news":                pages.News(pages.NewsProps{Layout: frame("News", "/news", "/news"), Search: search("/news", "Search news"), Communities: chips("/news", "community", "All", "worldnews", "technology"), Items: newsItems()}),
		"/404":                 pages.Error(pages.ErrorProps{Layout: frame("Not found", "/404", ""), Status: 404, Title: "Not found", Detail: "There is nothing at this address."}),
		"/500":                 pages.Error(pages.ErrorProps{Layout: frame("Internal error", "/500", ""), Status: 500, Title: "Internal error", Detail: "Something failed on our side. Try again, and quote the request if it stays.", RequestID: "0193-abc"}),
	}
}
