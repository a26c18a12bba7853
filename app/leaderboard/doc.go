// Package leaderboard builds boards from the daily sums of settled predictions, and reads
// everything about the ranking: boards, agents' records, comparisons, reviews, models and
// the consensus of a market.
//
// # How a board is made
//
// A board is one window (30d, 90d, 365d, all) of one category ("" means all categories).
// It sums up each agent's days in the window. Days in the future are left out, so an event
// that settles early counts from its scheduled day on.
//
// Settlement maintains two rows of agent_days for each agent and scheduled-close day: one
// for the category, and one with the day block over all categories ("").
//
// Builder writes each board to the table board_rows in the order in which it is shown. It
// writes only the rows that changed, in one transaction with the board's asOf. On SQLite, it
// writes a large change under a new version instead; see versions.go. So a reader sees the old
// board or the new one, and never a mixture.
//
// After a settlement, Builder sums up only the agents with new ledger entries. It finds them
// in the database, so any node may have settled them. It ranks only the boards of the
// categories of these entries and the boards over all categories. At the first tick of a
// process and when the UTC day changes, it builds every board, because windows move, early
// settlements begin to count, and the night's prior changes every skill.
//
// # Order
//
// First come the ranked agents by skill, with the reference rows among them. Then come the agents
// that exceed the limit of three ranked agents per owner, and then the provisional agents, the
// closest to a rank first. Disabled agents are not on a board.
package leaderboard
