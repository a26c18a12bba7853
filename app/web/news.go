package web

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/views/pages"
)

func (s *Site) listNews(c *fiber.Ctx, a address) error {
	community := strings.ToLower(a.get("community"))
	if community != "" && !slices.Contains(news.Communities, community) {
		return problem.InvalidParameter("community", "must be one of "+strings.Join(news.Communities, ", "))
	}
	found, next, err := s.news.List(c.UserContext(), s.DB.Reader, news.Filter{
		Community: community, Q: a.get("q"), Cursor: a.get("cursor"), Limit: pageSize,
		Live: s.News.Current().Live(),
	})
	if err != nil {
		return err
	}
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	cited, err := s.predictions.CitedBy(c.UserContext(), s.DB.Reader, prediction.SignalNews, ids, maxCited)
	if err != nil {
		return err
	}
	items := make([]pages.NewsItem, len(found))
	for i := range found {
		items[i] = s.newsProps(&found[i])
		by := cited[found[i].ID]
		items[i].CitedBy, items[i].Cited = s.predictionList(by.Newest), int(by.Total)
	}
	frame := s.frame("News", "Posts and headlines on six subjects, with the predictions that cite them.", "/news", "/news")
	frame.NoIndex = a.narrowed()
	return show(c, pages.News(pages.NewsProps{
		Layout: frame, Narrowed: a.narrowed(), Search: a.search("Search news"), Communities: a.openChips("community", news.Communities),
		Items: items, Pages: a.pages(next),
	}))
}

// maxCited is how many predictions are shown below one news item.
const maxCited = 5
