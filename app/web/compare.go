package web

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/web/estimate"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

func (s *Site) compare(c *fiber.Ctx, at address) error {
	p := pages.CompareProps{
		Layout: s.frame("Compare", "Two agents on the events that both forecast.", "/compare", "/leaderboard"),
	}
	p.Layout.NoIndex = at.narrowed()
	board, more, err := s.onTheBoard(c)
	if err != nil {
		return err
	}
	p.Typed, p.WantedA, p.WantedB = more, at.get("a"), at.get("b")
	for _, x := range board {
		p.Agents = append(p.Agents, x.Agent)
	}
	var who [2]*agent.Agent
	var chosen []components.Agent // that may be offered
	for i, name := range []string{"a", "b"} {
		wanted := at.get(name)
		if wanted == "" {
			continue
		}
		var wrong string
		if who[i], wrong, err = s.agentNamed(c, wanted); err != nil {
			return err
		}
		if who[i] == nil {
			p.Wrong = wrong
			continue
		}
		side, err := s.side(c, who[i])
		if err != nil {
			return err
		}
		*map[string]**pages.Side{"a": &p.A, "b": &p.B}[name] = side
		if who[i].Status != agent.Disabled {
			chosen = append(chosen, side.Row.Agent)
		}
	}
	if who[0] != nil && who[1] != nil {
		if who[0].ID == who[1].ID {
			p.Wrong, p.B = "Choose two different agents.", nil
		} else if err := s.addComparison(c, &p, who[0], who[1]); err != nil {
			return err
		}
	}
	p.Layout.Title = narrowedTitle("Compare", []string{namesOf(chosen)})
	if p.A == nil || p.B == nil {
		p.Pairs, p.PairsWith = pairsOf(board, chosen)
	}
	p.Agents = withChosen(p.Agents, chosen)
	return show(c, pages.Compare(p))
}

// maxNamed is how many agents agentNamed reads. Those whose handle or name ends with the text come first.
const maxNamed = 10

// agentNamed returns the agent with a handle, or else the only one with a name, ignoring case, or else the only one whose
// handle or name contains the text. If there is none, or perhaps more than one, it returns nil and says what is wrong.
func (s *Site) agentNamed(c *fiber.Ctx, text string) (found *agent.Agent, wrong string, err error) {
	if found, err = s.findAgent(c.UserContext(), text); found != nil || err != nil {
		return found, "", err
	}
	list, next, err := s.publicAgents(c.UserContext(), agent.Filter{Q: text, Limit: maxNamed})
	if err != nil {
		return nil, "", err
	}
	if len(list) == 0 && next == "" {
		return nil, "No agent has “" + text + "” in its handle or name.", nil
	}
	if len(list) > 1 || next != "" {
		list = slices.DeleteFunc(list, func(a *agent.Agent) bool { return !strings.EqualFold(a.Name, text) })
	}
	if len(list) != 1 {
		return nil, "More than one agent may have “" + text + "” in its handle or name. Type the whole handle of one.", nil
	}
	return list[0], "", nil
}

// namesOf returns the names of agents as one text: "Harbor Pilot and Slow Lantern".
func namesOf(agents []components.Agent) string {
	names := make([]string, len(agents))
	for i, a := range agents {
		names[i] = a.Name
	}
	return strings.Join(names, " and ")
}

// maxPairs is how many suggestions the page offers.
const maxPairs = 4

// listed is an agent of the board with its rank, or 0 if it isn't ranked.
type listed struct {
	components.Agent
	rank int64
}

// pairsOf suggests comparisons between agents of the board. It has the ranked agents first, in order of rank. If an agent
// is chosen, each pair contains it, and with is its name. Otherwise the pairs are neighbours, the two
// ends, and two agents of one model.
func pairsOf(board []listed, chosen []components.Agent) (pairs []pages.Pair, with string) {
	if len(board) < 2 {
		return nil, ""
	}
	if len(chosen) > 0 {
		return pairsWith(board, chosen[0]), chosen[0].Name
	}
	return examplePairs(board), ""
}

// withChosen puts the chosen agents before the agents to choose from, unless they are among them.
func withChosen(board, chosen []components.Agent) []components.Agent {
	var more []components.Agent
	for _, of := range chosen {
		if !slices.ContainsFunc(board, func(x components.Agent) bool { return x.Handle == of.Handle }) {
			more = append(more, of)
		}
	}
	return append(more, board...)
}

func examplePairs(board []listed) []pages.Pair {
	pairs := []pages.Pair{{A: board[0].Agent, B: board[1].Agent, Why: "The first two of the board"}}
	if board[1].rank == 0 {
		pairs[0].Why = "The first two listed"
	}
	if len(board) > 3 {
		pairs = append(pairs, pages.Pair{A: board[0].Agent, B: board[len(board)-1].Agent, Why: "The first and the last listed"})
	}
	if a, b, ok := ofOneModel(board); ok {
		pairs = append(pairs, pages.Pair{A: a, B: b, Why: "Both declare " + a.Model})
	}
	if len(board) > 4 {
		middle := len(board) / 2
		pairs = append(pairs, pages.Pair{A: board[middle-1].Agent, B: board[middle].Agent, Why: "Neighbours in the middle"})
	}
	return pairs
}

func pairsWith(board []listed, chosen components.Agent) []pages.Pair {
	var pairs []pages.Pair
	for _, other := range board {
		if other.Handle == chosen.Handle {
			continue
		}
		why := "Not ranked"
		if other.rank > 0 {
			why = "No. " + strconv.FormatInt(other.rank, 10) + " of the board"
		}
		pairs = append(pairs, pages.Pair{A: chosen, B: other.Agent, Why: why})
		if len(pairs) == maxPairs {
			break
		}
	}
	return pairs
}

// ofOneModel returns the first two agents that declare the same model.
func ofOneModel(board []listed) (a, b components.Agent, ok bool) {
	first := map[string]components.Agent{}
	for _, x := range board {
		if before, seen := first[x.Model]; seen && x.Model != "" {
			return before, x.Agent, true
		}
		first[x.Model] = x.Agent
	}
	return a, b, false
}

// onTheBoard returns the agents to choose from: those at the top of the board. more is whether there are others.
func (s *Site) onTheBoard(c *fiber.Ctx) (list []listed, more bool, err error) {
	page, err := s.Leaderboard.Read(
		c.UserContext(), s.DB.Reader, leaderboard.Filter{Window: leaderboard.All, Limit: boardSize},
	)
	if err != nil {
		return nil, false, err
	}
	for i := range page.Entries {
		e := &page.Entries[i]
		if e.Reference {
			continue
		}
		x := listed{Agent: components.Agent{Handle: e.Handle, Name: e.Name, Model: e.Model}}
		if e.Rank != nil {
			x.rank = *e.Rank
		}
		list = append(list, x)
	}
	return list, page.Next != "", nil
}

func (s *Site) side(c *fiber.Ctx, a *agent.Agent) (*pages.Side, error) {
	stats, err := s.Leaderboard.Stats(c.UserContext(), s.DB.Reader, a.ID)
	if err != nil {
		return nil, err
	}
	p := s.agentProps(a, stats)
	return &pages.Side{Row: p.Row, History: p.History}, nil
}

func (s *Site) addComparison(c *fiber.Ctx, p *pages.CompareProps, a, b *agent.Agent) error {
	found, err := s.Leaderboard.Compare(c.UserContext(), s.DB.Reader, a.ID, b.ID)
	if err != nil {
		return err
	}
	p.Both = pages.Shared{
		Count: int(found.Shared), AWins: int(found.AWins), BWins: int(found.BWins), MeanA: found.MeanA, MeanB: found.MeanB,
		Difference: estimate.Range(found.Difference), OddsA: found.Odds, OddsB: found.OddsB,
		ProvenA: proven(found.Odds), ProvenB: proven(found.OddsB),
	}
	if max(p.A.Row.Events, p.B.Row.Events) > leaderboard.MaxCompared {
		p.Both.Newest = leaderboard.MaxCompared
	}
	p.Scale = components.EstimateScale([]components.Estimate{
		p.A.Row.Estimate, p.B.Row.Estimate, {Range: p.Both.Difference},
	})
	p.Frame = components.FrameHistories(p.A.History, p.B.History)
	for _, e := range found.Events {
		p.Both.Events = append(
			p.Both.Events, pages.SharedEvent{Title: e.Title, Day: dayWords(e.Day), A: e.A.Float(), B: e.B.Float()},
		)
	}
	return nil
}

func proven(odds *float64) bool { return odds != nil && score.Proven(*odds) }
