package remote

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/pulsecast/pulsecast/app/client"
	"github.com/pulsecast/pulsecast/app/plaintext"
)

type marketsCommand struct {
	connection
	ID           value `arg:"" optional:"" help:"Id of one market, to see its criteria."`
	Limit        int   `default:"24" help:"Largest number to show, 1 to 100."`
	Category     value `help:"Only this category."`
	Tag          value `help:"Only this tag."`
	Q            value `help:"Only questions with all of these words."`
	ClosesBefore value `name:"closes-before" placeholder:"TIME" help:"Only markets that close before this time, such as 2027-01-31T00:00:00Z."`
}

// Run prints the open markets by volume, or one market.
func (m *marketsCommand) Run(ctx context.Context, t *Terminal) error {
	call, err := m.open(t)
	if err != nil {
		return err
	}
	if m.ID != "" {
		r := client.Request{Path: "/api/intelligence/markets/" + url.PathEscape(string(m.ID))}
		return show(ctx, &m.connection, t, call, r, t.printMarket)
	}
	query := parameters("limit", number(m.Limit), "category", m.Category, "tag", m.Tag, "q", m.Q, "closesBefore", m.ClosesBefore)
	return show(ctx, &m.connection, t, call, client.Request{Path: "/api/intelligence/markets", Query: query}, t.printMarkets)
}

func (t *Terminal) printMarkets(answer client.Markets) error {
	t.warnStale(answer.Stale)
	columns := []column{
		{name: "id"}, {name: "probability", numbers: true}, {name: "24h", numbers: true}, {name: "volume", numbers: true},
		{name: "closes"}, {name: "question", wide: true},
	}
	rows := make([][]string, len(answer.Markets))
	for i, m := range answer.Markets {
		rows[i] = []string{
			m.ID, percent(m.Probability), change(m.PriceChange24h), amount(m.Volume), moment(m.EndDate), m.Question,
		}
	}
	return t.printTable(columns, rows)
}

func (t *Terminal) printMarket(answer client.MarketAnswer) error {
	m := answer.Market
	lines := [][2]string{
		{"id", m.ID}, {"probability", percent(m.Probability)},
		{"book", percent(m.BestBid) + " to " + percent(m.BestAsk)},
		{"volume", amount(m.Volume)}, {"closes", moment(m.EndDate)}, {"category", orUnknown(m.Category)},
		{"page", orUnknown(m.URL)},
	}
	if c := answer.Consensus; c != nil {
		lines = append(lines, [2]string{"consensus", fmt.Sprintf("%s of %d agents; %d newcomers don't count", percent(c.Median), c.Agents, c.Others)})
	}
	if _, err := fmt.Fprintln(t.Out, plaintext.PrintableLine(m.Question)); err != nil {
		return err
	}
	for _, l := range lines {
		if _, err := fmt.Fprintf(t.Out, "%-12s %s\n", l[0], plaintext.PrintableLine(l[1])); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(t.Out, "\n%s\n", plaintext.Printable(orUnknown(m.Description)))
	return err
}

type newsCommand struct {
	connection
	Limit     int   `default:"24" help:"Largest number to show, 1 to 100."`
	Community value `help:"Only this community."`
	Q         value `help:"Only items with all of these words."`
}

// Run prints news.
func (n *newsCommand) Run(ctx context.Context, t *Terminal) error {
	call, err := n.open(t)
	if err != nil {
		return err
	}
	query := parameters("limit", number(n.Limit), "community", n.Community, "q", n.Q)
	return show(ctx, &n.connection, t, call, client.Request{Path: "/api/intelligence/news", Query: query}, t.printNews)
}

func (t *Terminal) printNews(answer client.News) error {
	t.warnStale(answer.Stale)
	columns := []column{{name: "posted"}, {name: "community"}, {name: "title", wide: true}, {name: "address", wide: true}}
	rows := make([][]string, len(answer.News))
	for i, n := range answer.News {
		rows[i] = []string{moment(&n.CreatedAt), n.Community, n.Title, n.URL}
	}
	return t.printTable(columns, rows)
}

// warnStale says that a table is out of date.
func (t *Terminal) warnStale(stale bool) {
	if stale {
		fmt.Fprintln(t.Err, "pulsecast: these signals are out of date: the source doesn't answer")
	}
}

// parameters makes a query from names and values. It leaves out values that weren't given.
func parameters(pairs ...value) url.Values {
	query := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(string(pairs[i]), string(pairs[i+1]))
		}
	}
	return query
}

// number formats a number for parameters.
func number(n int) value { return value(strconv.Itoa(n)) }
