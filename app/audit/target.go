package audit

import (
	"strings"

	"github.com/google/uuid"
)

// AgentTarget and the functions below return the Target of an entry.
func AgentTarget(handle string) string { return "agent:" + handle }

// AgentOf returns the handle in a target, or "" if the target isn't an agent.
func AgentOf(target string) string {
	handle, ok := strings.CutPrefix(target, AgentTarget(""))
	if !ok {
		return ""
	}
	return handle
}

// AdminTarget names an admin.
func AdminTarget(name string) string { return "admin:" + name }

// PredictionTarget names a prediction.
func PredictionTarget(id uuid.UUID) string { return "prediction:" + id.String() }

// NewsTarget names a post.
func NewsTarget(id string) string { return "news:" + id }

// MarketTarget names a market.
func MarketTarget(id string) string { return "market:" + id }

// AssignmentTarget names an assignment.
func AssignmentTarget(id uuid.UUID) string { return "assignment:" + id.String() }

// ReportTarget names a report.
func ReportTarget(id uuid.UUID) string { return "report:" + id.String() }

// FeedTarget names a feed of signals, "markets" or "news".
func FeedTarget(name string) string { return "feed:" + name }

// HandleTarget names a handle, which need not belong to an agent.
func HandleTarget(handle string) string { return "handle:" + handle }

// DatabaseTarget names the whole database.
const DatabaseTarget = "database"
