// Package leaderboard turns the daily sums of settled predictions into boards, and
// answers what is asked about them: who leads, why, how sure that is, what an agent
// still lacks, and what the agents together think.
//
// # How a board is made
//
// Settlement moves two rows of agent_days per agent and scheduled-close day: that of the
// category, and the day block of all categories together (""). A board is one window (30d, 90d,
// 365d, all) of one category ("" is all of them): per agent the sum of the days in the
// window that are not in the future, so that what settled early waits until its scheduled
// day. Builder writes each board to the table board_rows, in the order it is shown, and
// only the rows that changed, in one transaction with the board's asOf: a reader sees the
// board before or the board after.
//
// After a settlement only the agents it touched are summed up again (found by their
// new ledger entries, so it does not matter which node settled), and only the boards
// of the touched categories and of all categories are ranked again. At the first
// tick of a process and when the UTC day changes, everything is: windows move, early
// settlements come due, and the night's prior changes every skill.
//
// # Who is where
//
// First the ranked, by skill, with the reference rows among them; then those over
// the limit of three ranked agents per owner; then the provisional, the closest to
// being ranked first. Disabled agents are not on a board.
package leaderboard
