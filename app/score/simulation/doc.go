// Package simulation tests the scoring rules in simulated worlds, in which the true skill of
// every agent is known. Does the leaderboard find the order of the agents? Do the ranges,
// odds and rank ranges hold? Does any cheat pay? It runs the functions of package score,
// and the scoring rules used elsewhere, on the same predictions. docs/simulation.md holds the
// results.
//
// # The world
//
// Every market has a latent score X. It moves as a Brownian motion in the market's own clock,
// which ends at 1. X moves in small steps every two hours, in jumps when news breaks, and in
// a last jump when the result is known. The outcome happens if X ends above zero. So the fair
// price is Φ(X/√R), with R the variance still to come. It is a martingale and perfectly
// calibrated, so an agent that knows only the price has no edge. Sibling markets of one event
// share their clock and part of their movement.
//
// In a third of the events, markets can close early, in one way only. If the outcome happens,
// it happens at a random moment and the market settles immediately. Otherwise the market runs
// to its scheduled close. So the price falls while nothing happens.
//
// A market quotes its fair price as a book; books.go has the kinds of books. In a thin book,
// the fair price lies anywhere in the spread and the quotes follow the news up to five minutes
// late. Sometimes a single order displaces the quotes for a while. Every 60 s, the platform
// sees the book as it was up to a minute ago. It misses one tick in fifty.
//
// With Config.Rho, the latent scores of all events that close on one day share a part of
// their movement. With Config.PerDay, about that many events close on the same day.
//
// # True skill
//
// An informed agent has one noisy observation of the final X of each market. Within a model
// family, part of the error is shared. The agent believes the exact Bayesian posterior,
// distorted by its temper.
//
// The true skill of an agent is the expected improvement of its belief over the market,
// 100·E[(price − y)² − (belief − y)²]. It is taken over a reference set of open markets. This
// set is the same for all agents and doesn't depend on which questions an agent answered, how
// many, or when. The expectation is taken given the truth and not over the outcomes that
// happened. No scoring rule sees it.
//
// Some agents publish a price before the feed shows it, a result that is already known, or
// the fair price against a book that they moved. They believe what the market believes, so
// their true skill is 0.
//
// The board is built on day 180. Markets that are still open then run to day 270 at most.
// agents.go has the kinds of agents and their shares. A range is judged by whether it holds
// the expectation of the agent's mean cluster, given the truth, for the predictions that the
// agent made. This expectation includes gains from gaming: a range above zero is right about
// an agent that takes points from the rules, although its skill is 0.
//
// # The daily studies
//
// daily.go simulates single agents without a world. A given number of their events close each
// day, with correlated luck, and the agents are examined after every day.
//
// # Seeds
//
// The seed and the Config decide everything in a world. Seeds up to 40 were used while rules
// and behaviours were chosen. Seeds 201 to 240 were run after the code was finished, and no
// choice depends on them.
package simulation
