package polymarket

import "testing"

// TestTitle checks the titles of real markets, with question, event and label as Polymarket sent them.
func TestTitle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ question, event, label, want string }{
		// Placeholders.
		{"edgeX FDV above $1B one day after launch?", "edgeX FDV above ___ one day after launch?", "$1B", "edgeX FDV above $1B one day after launch?"},
		{"MicroStrategy sells any Bitcoin by June 30, 2026?", "MicroStrategy sells any Bitcoin by ___ ?", "June 30, 2026", "MicroStrategy sells any Bitcoin by June 30, 2026?"},
		{"Macron out by June 30, 2026?", "Macron out by...?", "June 30, 2026", "Macron out by June 30, 2026?"},
		{"Will the price of Bitcoin be above $64,000 on March 11?", "Bitcoin above ___ on March 11?", "64,000", "Will the price of Bitcoin be above $64,000 on March 11?"},
		{"Bitcoin above ___ on March 11?", "Bitcoin above ___ on March 11?", "64,000", "Bitcoin above 64,000 on March 11?"},
		{"Macron out by…?", "Macron out by…?", "June 30", "Macron out by June 30?"},
		{"Macron out by ...", "Macron out by ...", "June 30", "Macron out by June 30?"},
		{"Bitcoin above __ on March 11?", "What will Bitcoin do?", "64,000", "Bitcoin above 64,000 on March 11?"},
		{"Kraken IPO by ___ ?", "", "", "Kraken IPO?"},
		{"Kraken IPO by ___?", "Kraken IPO by ___?", "___", "Kraken IPO?"},
		{"___", "", "", ""},
		{"___?", "____", "", ""},
		// Choices of a group.
		{"Will Trump deport less than 250,000?", "How many people will Trump deport in 2025?", "<250k", "How many people will Trump deport in 2025? — <250k"},
		{"Will inflation reach more than 3% in 2025?", "How high will inflation get in 2025?", "Above 3%", "How high will inflation get in 2025? — Above 3%"},
		{"Will the Buffalo Bills win Super Bowl 2026?", "Super Bowl Champion 2026", "Buffalo", "Super Bowl Champion 2026 — Buffalo"},
		{"Will Stephen A. Smith win the 2028 Democratic presidential nomination?", "Democratic Presidential Nominee 2028", "Stephen A. Smith", "Democratic Presidential Nominee 2028 — Stephen A. Smith"},
		// The question names both the event and the choice.
		{"Russia-Ukraine Ceasefire before GTA VI?", "What will happen before GTA VI?", "Russia-Ukraine Ceasefire", "Russia-Ukraine Ceasefire before GTA VI?"},
		{"Will the ferry run in March?", "When will the ferry run?", "March", "Will the ferry run in March?"},
		{"Katana FDV above $1B one day after launch?", "Katana FDV above what one day after launch?", "$1B", "Katana FDV above $1B one day after launch?"},
		// Teams, totals and spreads.
		{"Lakers vs. Celtics", "Lakers vs. Celtics", "", "Lakers vs. Celtics"},
		{"Lakers vs. Celtics", "Lakers vs. Celtics", "Lakers vs Celtics", "Lakers vs. Celtics"},
		{"Lakers vs. Celtics: O/U 225.5", "Lakers vs. Celtics", "O/U 225.5", "Lakers vs. Celtics: O/U 225.5"},
		{"Spread: Lakers (-5.5)", "Lakers vs. Celtics", "Spread -5.5", "Lakers vs. Celtics — Spread: Lakers (-5.5)"},
		{"Will the match be a draw?", "Romania vs. Ukraine", "Draw", "Romania vs. Ukraine — Draw"},
		{"Counter-Strike: FaZe vs illwill (BO3) - HLC Belgrade Pro Playoffs", "Counter-Strike: FaZe vs illwill (BO3) - HLC Belgrade Pro Playoffs", "Match Winner",
			"Counter-Strike: FaZe vs illwill (BO3) - HLC Belgrade Pro Playoffs — Match Winner"},
		// Up or Down, arrows and markets that stand alone.
		{"Bitcoin Up or Down - March 12, 5:20AM-5:25AM ET", "Bitcoin Up or Down - March 12, 5:20AM-5:25AM ET", "", "Bitcoin Up or Down - March 12, 5:20AM-5:25AM ET"},
		{"Will Bitcoin reach $120,000 in March?", "What price will Bitcoin hit in March?", "↑ 120,000", "What price will Bitcoin hit in March? — ↑ 120,000"},
		{"Will Bitcoin dip to $80,000 in March?", "What price will Bitcoin hit in March?", "↓ 80,000", "What price will Bitcoin hit in March? — ↓ 80,000"},
		{"Brazil unemployment below 6.3% for Q4 2025?", "Brazil unemployment below 6.3% for Q4 2025?", "", "Brazil unemployment below 6.3% for Q4 2025?"},
		{"Will it rain?", "", "Yes", "Will it rain?"},
	} {
		if got := title(c.question, c.event, c.label); got != c.want {
			t.Errorf("%q, %q, %q\ngot  %q\nwant %q", c.question, c.event, c.label, got, c.want)
		}
	}
}

func TestEventTitle(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"MicroStrategy sells any Bitcoin by ___ ?":  "MicroStrategy sells any Bitcoin by when?",
		"Macron out by...?":                         "Macron out by when?",
		"Macron out by ...":                         "Macron out by when?",
		"UK election called by…?":                   "UK election called by when?",
		"Bitcoin above ___ on March 11?":            "Bitcoin above what on March 11?",
		"edgeX FDV above ___ one day after launch?": "edgeX FDV above what one day after launch?",
		"Who will win?":                             "Who will win?",
		"Wait for it... now":                        "Wait for it... now",
		"___":                                       "",
		"":                                          "",
	} {
		if got := eventTitle(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
