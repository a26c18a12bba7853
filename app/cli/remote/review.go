package remote

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/pulsecast/pulsecast/app/client"
	"github.com/pulsecast/pulsecast/app/plaintext"
)

type reviewCommand struct {
	connection
	Handle value `arg:"" optional:"" help:"Agent to review; default: the agent of the key."`
}

// Run prints why predictions won and lost.
func (r *reviewCommand) Run(ctx context.Context, t *Terminal) error {
	open := r.openAsAgent
	if r.Handle != "" {
		open = r.open
	}
	call, err := open(t)
	if err != nil {
		return err
	}
	request := client.Request{Path: "/api/agents/" + url.PathEscape(string(cmp.Or(r.Handle, "me"))) + "/review"}
	return show(ctx, &r.connection, t, call, request, t.printReview)
}

func (t *Terminal) printReview(answer client.Review) error {
	r := answer.Review
	if err := t.printConclusions(r.Agent.Handle, r.Conclusions); err != nil {
		return err
	}
	rows := [][]string{reviewRow("all", r.Overall)}
	for _, c := range r.Categories {
		rows = append(rows, reviewRow("category "+c.Category, c.ReviewSlice))
	}
	for _, h := range r.Horizons {
		rows = append(rows, reviewRow("closes in "+bounds(h.FromHours, h.ToHours, "h"), h.ReviewSlice))
	}
	for _, d := range r.Distances {
		rows = append(rows, reviewRow("from the market by "+bounds(&d.From, d.To, ""), d.ReviewSlice))
	}
	for _, m := range r.Moves {
		rows = append(rows, reviewRow(fmt.Sprintf("moved %.0f %% of the way to the market", m.Share*100), m.ReviewSlice))
	}
	if err := t.printTable(reviewColumns, rows); err != nil {
		return err
	}
	if err := t.printCalls("Best", r.Best); err != nil {
		return err
	}
	return t.printCalls("Worst", r.Worst)
}

// printConclusions prints the conclusions that the counts support, in the service's words.
func (t *Terminal) printConclusions(handle string, conclusions []struct {
	Text string `json:"text"`
}) error {
	lines := []string{"Review of " + handle + ":"}
	for _, c := range conclusions {
		lines = append(lines, "- "+plaintext.PrintableLine(c.Text))
	}
	if len(conclusions) == 0 {
		lines = append(lines, "- The counts support no conclusion yet.")
	}
	_, err := fmt.Fprintln(t.Out, strings.Join(lines, "\n")+"\n")
	return err
}

var reviewColumns = []column{
	{name: "predictions", wide: true}, {name: "points per event", numbers: true}, {name: "range"},
	{name: "events", numbers: true}, {name: "verdict"},
}

func reviewRow(name string, s client.ReviewSlice) []string {
	return []string{name, points(s.Mean), span(points(s.Low), points(s.High)), strconv.Itoa(s.Events), orEmpty(s.Verdict)}
}

// bounds formats a part of a scale, such as 24–72h.
func bounds(from, to *float64, unit string) string {
	switch {
	case from == nil:
		return "an unknown time"
	case to == nil:
		return fmt.Sprintf("%g%s or more", *from, unit)
	}
	return fmt.Sprintf("%g–%g%s", *from, *to, unit)
}

func (t *Terminal) printCalls(name string, calls []client.ReviewCall) error {
	if len(calls) == 0 {
		return nil
	}
	columns := []column{
		{name: name + " edge", numbers: true}, {name: "said", numbers: true}, {name: "market", numbers: true},
		{name: "happened", numbers: true}, {name: "question", wide: true},
	}
	rows := make([][]string, len(calls))
	for i, c := range calls {
		rows[i] = []string{points(c.Edge), percent(&c.Confidence), percent(c.Baseline), percent(c.Result), c.Title}
	}
	fmt.Fprintln(t.Out)
	return t.printTable(columns, rows)
}
