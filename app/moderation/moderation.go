// Package moderation implements the acts of admins on agents, predictions, markets, assignments and
// reports. Each act is one method. It checks, locks, changes and writes the audit log in one
// transaction. Pages, shell commands and the API call the same methods. An act that would change
// nothing reports that and writes no entry.
package moderation

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// maxReason is the greatest length of a reason, note or report, in characters. A ruling's reason becomes its note.
const maxReason = settlement.MaxNote

// Options configure a Service. DB and Now are required.
type Options struct {
	DB  *database.DB
	Now func() time.Time
	Log *slog.Logger // nil discards
	// Settlement carries out rulings. It is nil on the command line, which can't rule.
	Settlement *settlement.Service
	// Names decides which names agents may have. If nil, only the built-in words are reserved.
	Names *agent.Names
	// IdentityURL is the identity provider's address. If set, only the provider issues keys.
	IdentityURL string
	// Recheck makes this node see an act at once; other nodes see it within a second. It is nil if
	// this process serves no requests.
	Recheck func(ctx context.Context) error
}

// Service carries out the acts. It is safe for concurrent use.
type Service struct {
	Options
	agents      agent.Store
	predictions prediction.Store
	assignments assignment.Store
}

// New makes a Service.
func New(o Options) *Service {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Recheck == nil {
		o.Recheck = func(context.Context) error { return nil }
	}
	return &Service{Options: o, agents: agent.Store{Names: o.Names}, predictions: prediction.Store{}.For(agent.Viewer{Admin: true})}
}

// Act says who acts, from which address, and why.
type Act struct {
	Actor   string // an admin's name, or audit.Shell
	Address string // client's address; "" on the command line
	Reason  string // kept in the audit log; some acts require it
	// Seen is the state that the admin's page showed. The act is refused with 409 changed_meanwhile
	// if the state is different now. If nil, the state isn't checked.
	Seen *string
}

// checkSeen refuses the act if the state that the admin saw is no longer current.
func (a *Act) checkSeen(now string) error {
	if a.Seen == nil || *a.Seen == now {
		return nil
	}
	return changedMeanwhile(*a.Seen, now)
}

// requireReason trims and checks the reason. It returns 422 invalid_request if there is none.
func (a *Act) requireReason() (err error) {
	a.Reason, err = CheckReason(a.Reason)
	return err
}

// changedMeanwhile returns the error for an admin whose page is out of date.
func changedMeanwhile(saw, is string) error {
	return problem.New(problem.CodeChangedMeanwhile,
		fmt.Sprintf("The state was %q when you opened the page and is now %q. Your change was not saved.", saw, is))
}

// change makes the change of an act within a transaction and returns its entry for the audit log. A
// nil entry means that there was nothing to change.
type change func(ctx context.Context, tx bun.Tx) (*audit.Entry, error)

// do runs a change and records it in one transaction. After the commit this node sees it at once.
func (s *Service) do(ctx context.Context, act Act, run change) (changed bool, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		entry, err := run(ctx, tx)
		if err != nil || entry == nil {
			return err
		}
		changed = true
		return s.record(ctx, tx, act, entry)
	})
	if !changed || err != nil {
		return false, err
	}
	s.recheck(ctx)
	return true, nil
}

func (s *Service) record(ctx context.Context, tx bun.Tx, act Act, e *audit.Entry) error {
	e.CreatedAt, e.Actor, e.Address, e.Note = s.Now(), act.Actor, act.Address, act.Reason
	return audit.Record(ctx, tx, *e)
}

// recheck makes this node drop cached state after an act is committed.
func (s *Service) recheck(ctx context.Context) {
	if err := s.Recheck(ctx); err != nil {
		s.Log.Warn("this node shows an act late, within a second", "error", err)
	}
}

// ReadFeed records that an admin asked for a reading of a feed now.
func (s *Service) ReadFeed(ctx context.Context, act Act, feed string) error {
	_, err := s.do(ctx, act, func(context.Context, bun.Tx) (*audit.Entry, error) {
		return &audit.Entry{Action: audit.TickRun, Target: audit.FeedTarget(feed)}, nil
	})
	return err
}

// CheckReason trims a required reason. It returns 422 invalid_request if the reason is missing, is
// too long or has control characters.
func CheckReason(text string) (string, error) { return checkText("reason", text, true) }

// checkText trims a text that a person wrote. It refuses a text that is too long, has control
// characters, or is empty although required.
func checkText(field, text string, required bool) (string, error) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	least := 0
	if required {
		least = 1
	}
	if message := plaintext.CheckLength(text, least, maxReason, true); message != "" {
		return "", problem.InvalidRequest(problem.Field{Field: field, Message: message})
	}
	return text, nil
}
