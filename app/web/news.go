package web

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/views/pages"
)

// newsPath returns the address of one news item. The list of all news soon leaves it behind.
func newsPath(id string) string {
	return "/news?item=" + url.QueryEscape(id) + "#n-" + url.PathEscape(id)
}

// listNews shows a page of the list, or the one item that the address names.
func (s *Site) listNews(c *fiber.Ctx, a address) error {
	if id := a.get("item"); id != "" {
		return s.newsItem(c, id)
	}
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
	items, err := s.citedNews(c.UserContext(), found)
	if err != nil {
		return err
	}
	frame := s.frame("News", "Posts and headlines on six subjects, with the predictions that cite them.", "/news", "/news")
	frame.NoIndex = a.narrowed()
	communities := a.openChips("community", news.Communities)
	frame.Title = narrowedTitle(frame.Title, []string{a.get("q")}, communities)
	return show(c, pages.News(pages.NewsProps{
		Layout: frame, Narrowed: a.narrowed(), Search: a.search("Search news"), Communities: communities,
		Items: items, Pages: a.pages(next),
	}))
}

// newsItem shows one item.
func (s *Site) newsItem(c *fiber.Ctx, id string) error {
	item, found, err := s.news.ByID(c.UserContext(), s.DB.Reader, id)
	if err != nil {
		return err
	}
	if !found {
		return problem.NotFound("There is no news item at this address. Its source may have deleted it.")
	}
	items, err := s.citedNews(c.UserContext(), []news.Item{*item})
	if err != nil {
		return err
	}
	frame := s.frame(item.Title, "", "/news", "/news")
	frame.NoIndex = true
	return show(c, pages.News(pages.NewsProps{Layout: frame, Single: true, Items: items}))
}

// citedNews maps items and adds the predictions that cite them, with one query for all.
func (s *Site) citedNews(ctx context.Context, found []news.Item) ([]pages.NewsItem, error) {
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	cited, err := s.predictions.CitedBy(ctx, s.DB.Reader, prediction.SignalNews, ids, maxCited)
	if err != nil {
		return nil, err
	}
	items := make([]pages.NewsItem, len(found))
	for i := range found {
		items[i] = s.newsProps(&found[i])
		by := cited[found[i].ID]
		items[i].CitedBy, items[i].Cited = s.predictionList(by.Newest), int(min(by.Total, prediction.MaxCitations))
		items[i].MoreCited = by.Total > prediction.MaxCitations
	}
	return items, nil
}

// maxCited is how many predictions are shown below one news item.
const maxCited = 5
