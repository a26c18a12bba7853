package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
)

// What admins do, as the audit log names it.
const (
	ActSignIn            = "sign_in"
	ActSignOut           = "sign_out"
	ActSignOutAll        = "sign_out_everywhere"
	ActAdminCreated      = "admin_created"
	ActAdminPassword     = "admin_password"
	ActAdminRemoved      = "admin_removed"
	ActAgentDisabled     = "agent_disabled"
	ActAgentEnabled      = "agent_enabled"
	ActKeyIssued         = "key_issued"
	ActKeyRevoked        = "key_revoked"
	ActSessionsEnded     = "sessions_ended"
	ActNote              = "note_added"
	ActRuling            = "ruling" // followed by "." and the kind of correction
	ActTextHidden        = "text_hidden"
	ActTextShown         = "text_shown"
	ActAssignmentWritten = "assignment_written"
	ActAssignmentEdited  = "assignment_edited"
	ActAssignmentClosed  = "assignment_closed"
	ActTick              = "tick_run"
	ActReportClosed      = "report_closed"
	ActHandleReserved    = "handle_reserved"
	ActHandleFreed       = "handle_freed"
)

// Shell is the actor of what was done on the command line.
const Shell = "(shell)"

// Entry is one line of the audit log. Before and After say in words what changed.
type Entry struct {
	bun.BaseModel `bun:"table:audit_log,alias:u"`

	ID        uuid.UUID `bun:",pk,type:uuid"`
	CreatedAt time.Time
	Actor     string // an admin's name, or Shell
	Action    string
	Target    string // "agent:ada", "prediction:0198…", "market:516930", …
	Before    string
	After     string
	Note      string // the reason
	Address   string // of the client; "" on the command line
}

// AgentTarget, and those after it, name what an act is about.
func AgentTarget(handle string) string     { return "agent:" + handle }
func AdminTarget(name string) string       { return "admin:" + name }
func PredictionTarget(id uuid.UUID) string { return "prediction:" + id.String() }
func MarketTarget(id string) string        { return "market:" + id }
func AssignmentTarget(id uuid.UUID) string { return "assignment:" + id.String() }
func ReportTarget(id uuid.UUID) string     { return "report:" + id.String() }
func FeedTarget(name string) string        { return "feed:" + name }
func HandleTarget(handle string) string    { return "handle:" + handle }

// Record appends an entry; call it in the transaction of the act.
func (Store) Record(ctx context.Context, tx bun.Tx, e Entry) error {
	e.CreatedAt = database.Now(e.CreatedAt)
	e.ID = database.NewID(e.CreatedAt)
	if _, err := tx.NewInsert().Model(&e).Exec(ctx); err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	return nil
}

// AuditFilter narrows the audit log; zero fields do not.
type AuditFilter struct {
	Actor    string
	Action   string // also matches what begins with it and a dot
	Target   string
	From, To time.Time // From <= CreatedAt < To
	Cursor   string
	Limit    int
}

// Audit reads the newest entries and the cursor of the next page, empty at the end.
func (Store) Audit(ctx context.Context, db bun.IDB, f AuditFilter) (list []Entry, next string, err error) {
	q := db.NewSelect().Model(&list).OrderExpr("u.id DESC").Limit(int64(f.Limit) + 1)
	if f.Actor != "" {
		q.Where("u.actor = ?", f.Actor)
	}
	if f.Action != "" {
		q.Where("(u.action = ? OR (u.action >= ? AND u.action < ?))", f.Action, f.Action+".", f.Action+"/")
	}
	if f.Target != "" {
		q.Where("u.target = ?", f.Target)
	}
	if !f.From.IsZero() {
		q.Where("u.created_at >= ?", f.From)
	}
	if !f.To.IsZero() {
		q.Where("u.created_at < ?", f.To)
	}
	if f.Cursor != "" {
		parts, err := cursor.Decode(f.Cursor, 1)
		if err != nil {
			return nil, "", err
		}
		id, err := uuid.Parse(parts[0])
		if err != nil {
			return nil, "", cursor.Invalid()
		}
		q.Where("u.id < ?", id)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, "", fmt.Errorf("read the audit log: %w", err)
	}
	if len(list) > f.Limit {
		list = list[:f.Limit]
		next = cursor.Encode(list[f.Limit-1].ID.String())
	}
	for i := range list {
		list[i].CreatedAt = list[i].CreatedAt.UTC()
	}
	return list, next, nil
}

// Words is an action as people read it.
func (e *Entry) Words() string {
	return strings.ReplaceAll(strings.TrimPrefix(e.Action, ActRuling+"."), "_", " ")
}
