// Package audit owns the audit log: what admins and the command line did, when and why. An entry is
// written in the transaction of its act, so neither exists without the other. Database triggers
// refuse to change or delete an entry.
package audit

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

// The actions, as stored in the log. Ruling is followed by "." and the kind of the correction.
const (
	SignIn            = "sign_in"
	SignOut           = "sign_out"
	SignOutEverywhere = "sign_out_everywhere"
	AdminCreated      = "admin_created"
	AdminPassword     = "admin_password"
	AdminRemoved      = "admin_removed"
	AgentCreated      = "agent_created"
	AgentDisabled     = "agent_disabled"
	AgentEnabled      = "agent_enabled"
	AccountClosed     = "account_closed"
	KeyIssued         = "key_issued"
	KeyRevoked        = "key_revoked"
	KeysReplaced      = "keys_replaced"
	SessionsEnded     = "sessions_ended"
	NoteAdded         = "note_added"
	Ruling            = "ruling"
	TextHidden        = "text_hidden"
	TextShown         = "text_shown"
	TextErased        = "text_erased"
	AssignmentWritten = "assignment_written"
	AssignmentEdited  = "assignment_edited"
	AssignmentClosed  = "assignment_closed"
	TickRun           = "tick_run"
	ReportClosed      = "report_closed"
	HandleReserved    = "handle_reserved"
	HandleFreed       = "handle_freed"
	BackupRestored    = "backup_restored"
)

// Actions returns all actions. Filter.Action takes each of them.
func Actions() []string {
	return []string{
		SignIn, SignOut, SignOutEverywhere, AdminCreated, AdminPassword, AdminRemoved,
		AgentCreated, AgentDisabled, AgentEnabled, AccountClosed, KeyIssued, KeyRevoked, KeysReplaced, SessionsEnded, NoteAdded,
		Ruling, TextHidden, TextShown, TextErased, AssignmentWritten, AssignmentEdited, AssignmentClosed,
		TickRun, ReportClosed, HandleReserved, HandleFreed, BackupRestored,
	}
}

// Shell is the actor of an act on the command line.
const Shell = "(shell)"

// Agent is the actor if an agent acted on its own account. The entry's target names the agent.
const Agent = "(agent)"

// Entry is one line of the log. Before and After describe the change in words.
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
	Address   string // client's address; "" on the command line
}

// Words returns the action in words for people.
func (e *Entry) Words() string {
	return strings.ReplaceAll(strings.TrimPrefix(e.Action, Ruling+"."), "_", " ")
}

// Record appends an entry. Call it in the transaction of the act.
func Record(ctx context.Context, tx bun.Tx, e Entry) error {
	e.CreatedAt = database.Stored(e.CreatedAt)
	e.ID = database.NewID(e.CreatedAt)
	if _, err := tx.NewInsert().Model(&e).Exec(ctx); err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	return nil
}

// Filter narrows the log. A zero field doesn't narrow it.
type Filter struct {
	Actor    string
	Action   string // also matches actions that begin with it and a dot
	Target   string
	From, To time.Time // From <= CreatedAt < To
	Cursor   string
	Limit    int
}

// List returns the newest entries that match f, and the cursor of the next page, which is empty at
// the end. A bad cursor is 400 invalid_parameter.
func List(ctx context.Context, db bun.IDB, f Filter) (list []Entry, next string, err error) {
	q := db.NewSelect().Model(&list).OrderExpr("u.id DESC").Limit(int64(f.Limit) + 1)
	if err := f.narrow(q); err != nil {
		return nil, "", err
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

func (f *Filter) narrow(q *bun.SelectQuery) error {
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
	if f.Cursor == "" {
		return nil
	}
	parts, err := cursor.Decode(f.Cursor, 1)
	if err != nil {
		return err
	}
	id, err := uuid.Parse(parts[0])
	if err != nil {
		return cursor.Invalid()
	}
	q.Where("u.id < ?", id)
	return nil
}
