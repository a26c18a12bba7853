// Package simulation asks whether the scoring rules do what they are for. In worlds where
// the true skill of every agent is known: does the leaderboard recover their order, do the
// ranges, odds and rank ranges hold, and does any cheat pay? It runs the real functions of
// package score, beside the scorings used elsewhere, over the same predictions.
// docs/simulation.md holds the results.
//
// # The world
//
// Every market has a latent score X that moves as a Brownian motion in its own clock,
// which ends at 1: in small steps every two hours, in jumps when news breaks, and in
// a last jump when the result is known. The outcome happens if X ends above zero, so
// the fair price Φ(X/√R), with R the variance still to come, is a martingale and perfectly
// calibrated: an agent that knows only the price has no edge. Sibling markets of one event
// share their clock and part of their movement. In a third of the events the markets
// close one-way early: if the outcome happens it does so at a random moment and the
// market settles at once, otherwise it runs to its scheduled close; the price falls
// accordingly while nothing happens.
//
// A market quotes its fair price as a book; books.go has the kinds of books. In a thin
// book the fair price lies anywhere in the spread, the quotes follow the news up to five
// minutes late, and now and then a single order displaces them for a while. The platform
// sees a tick every 60 s of the book up to a minute before, and misses one in fifty.
//
// With Config.Rho the latent scores of all events that close on one day share a part of
// their movement, and with Config.PerDay about so many events close together.
//
// # True skill
//
// An informed agent has one noisy observation of the final X per market, with errors
// partly shared within a model family, and believes the exact Bayesian posterior,
// distorted by its temper. The true skill of an agent is the expected improvement of
// its genuine belief over the market, 100·E[(price − y)² − (belief − y)²], on a
// reference set of open markets that is the same for all agents and independent of
// which questions, how many and at which moments the agent chose to answer. An agent
// that publishes a price before the feed shows it, a result that is already known, or the
// fair price against a book that it moved, believes what the market does, so its skill is
// 0. The expectation is taken over the truth, never over the outcomes that happened, and
// no scoring sees it.
//
// The board is taken on day 180 while markets still open run to day 270. Kinds and
// their shares are in agents.go. A range is judged by whether it holds what the mean
// cluster was expected to be over the truth, for the very predictions it is about. The
// expectation includes what gaming brings: a range above zero is right about an agent
// that takes points from the rules, though its skill is 0.
//
// # The daily studies
//
// daily.go watches single agents without a world. Their events close so many a day with
// correlated luck, and they are looked at after each day.
//
// # Seeds
//
// Everything in a world follows from its seed. Seeds up to 40 were used while rules and
// behaviours were chosen. Seeds 201 to 240 were run once the code was finished, and
// nothing was chosen by them.
package simulation
