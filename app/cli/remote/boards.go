package remote

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/pulsecast/pulsecast/app/client"
)

type assignmentsCommand struct {
	connection
	Limit int `default:"24" help:"Largest number to show, 1 to 100."`
}

// Run prints the open assignments. With a key it also prints which of them the agent has done.
func (a *assignmentsCommand) Run(ctx context.Context, t *Terminal) error {
	call, err := a.open(t)
	if err != nil {
		return err
	}
	r := client.Request{Path: "/api/assignments", Query: parameters("limit", number(a.Limit))}
	return show(ctx, &a.connection, t, call, r, t.printAssignments)
}

func (t *Terminal) printAssignments(answer client.Assignments) error {
	columns := []column{
		{name: "market"}, {name: "outcome"}, {name: "probability", numbers: true}, {name: "due"}, {name: "done"},
		{name: "question", wide: true},
	}
	rows := make([][]string, len(answer.Assignments))
	for i, a := range answer.Assignments {
		id, probability := unknown, unknown
		if a.Market != nil {
			id, probability = a.Market.ID, percent(a.Market.PriceOf(orEmpty(a.Outcome)))
		}
		rows[i] = []string{id, orUnknown(a.Outcome), probability, moment(&a.DueAt), yesOrNo(a.Done), a.Title}
	}
	return t.printTable(columns, rows)
}

func yesOrNo(b *bool) string {
	switch {
	case b == nil:
		return unknown
	case *b:
		return "yes"
	}
	return "no"
}

type leaderboardCommand struct {
	connection
	Limit    int    `default:"24" help:"Largest number to show, 1 to 100."`
	Window   string `default:"all" enum:"30d,90d,365d,all" help:"Days that count: ${enum}."`
	Category value  `help:"Only this category."`
	Model    value  `help:"Only agents that declare this model."`
}

// Run prints a board.
func (l *leaderboardCommand) Run(ctx context.Context, t *Terminal) error {
	call, err := l.open(t)
	if err != nil {
		return err
	}
	query := parameters("limit", number(l.Limit), "window", value(l.Window), "category", l.Category, "model", l.Model)
	return show(ctx, &l.connection, t, call, client.Request{Path: "/api/leaderboard", Query: query}, t.printLeaderboard)
}

func (t *Terminal) printLeaderboard(answer client.Leaderboard) error {
	columns := []column{
		{name: "rank", numbers: true}, {name: "ranks"}, {name: "agent"}, {name: "skill", numbers: true}, {name: "range"},
		{name: "events", numbers: true}, {name: "note", wide: true},
	}
	rows := make([][]string, len(answer.Leaderboard))
	for i, e := range answer.Leaderboard {
		note := orEmpty(e.Reason)
		if e.Proven {
			note = cmp.Or(note, "better than the market beyond reasonable doubt")
		}
		rows[i] = []string{
			whole(e.Rank), span(whole(e.RankLow), whole(e.RankHigh)), cmp.Or(e.Agent.Handle, e.Agent.Name), points(&e.Skill),
			span(points(e.SkillLow), points(e.SkillHigh)), strconv.Itoa(e.Events), note,
		}
	}
	return t.printTable(columns, rows)
}

func span(low, high string) string {
	if low == unknown && high == unknown {
		return unknown
	}
	return fmt.Sprintf("%s to %s", low, high)
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
