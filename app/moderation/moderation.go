// Package moderation is what admins do about agents, predictions, markets, assignments
// and reports. Each act is one method. It checks, locks, changes and writes the audit
// log in one transaction, and pages, shell commands and the API call the same method.
//
// An act that would change nothing says so and leaves no entry in the log.
package moderation

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

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

// MaxReason is the length of the longest reason, note or report, in characters.
const MaxReason = 1000

// Options configure a Service. DB and Now are required.
type Options struct {
	DB  *database.DB
	Now func() time.Time
	Log *slog.Logger // nil discards
	// Settlement carries out rulings; nil on the command line, which has none.
	Settlement *settlement.Service
	// Names says which names agents may have; nil knows the built-in words alone.
	Names *agent.Names
	// IdentityURL is the identity provider's address; if set, keys are issued there only.
	IdentityURL string
	// Recheck makes this node learn at once what an act changed; the others learn it
	// within a second. nil if this process serves nothing.
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

// Act says who acts, from where, and why.
type Act struct {
	Actor   string // an admin's name, or audit.Shell
	Address string // of the client; "" on the command line
	Reason  string // kept in the audit log; some acts require it
	// Seen is the state that the admin saw and decided on, in the words of the page. The
	// act is refused with 409 changed_meanwhile if the state differs by now. nil: whatever
	// the state is.
	Seen *string
}

// checkSeen refuses an act that was decided on a state other than now.
func (a *Act) checkSeen(now string) error {
	if a.Seen == nil || *a.Seen == now {
		return nil
	}
	return changedMeanwhile(*a.Seen, now)
}

// requireReason trims and checks the reason: 422 invalid_request without one.
func (a *Act) requireReason() (err error) {
	a.Reason, err = CheckReason(a.Reason)
	return err
}

// changedMeanwhile says that another admin was first.
func changedMeanwhile(saw, is string) error {
	return problem.New(problem.CodeChangedMeanwhile,
		fmt.Sprintf("When you opened the page this was %q; now it is %q. Nothing was changed by you.", saw, is))
}

// change does an act within a transaction and describes it. A nil entry says that
// there was nothing to change.
type change func(ctx context.Context, tx bun.Tx) (*audit.Entry, error)

// do runs a change and records it in one transaction. This node shows it at once.
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

// recheck makes this node forget what it knew, once an act is committed.
func (s *Service) recheck(ctx context.Context) {
	if err := s.Recheck(ctx); err != nil {
		s.Log.Warn("not rechecked at once; every node does within a second", "error", err)
	}
}

// ReadFeed records that an admin asked for a reading of a feed now.
func (s *Service) ReadFeed(ctx context.Context, act Act, feed string) error {
	_, err := s.do(ctx, act, func(context.Context, bun.Tx) (*audit.Entry, error) {
		return &audit.Entry{Action: audit.TickRun, Target: audit.FeedTarget(feed)}, nil
	})
	return err
}

// CheckReason trims a required reason: 422 invalid_request if it is missing, too long or
// has control characters.
func CheckReason(text string) (string, error) { return checkText("reason", text, true) }

// checkText trims a text that a person wrote. It refuses one that is too long, has
// control characters, or is missing although it is required.
func checkText(field, text string, required bool) (string, error) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	message := plaintext.Check(text, true)
	switch n := utf8.RuneCountInString(text); {
	case required && n == 0:
		message = "is required"
	case n > MaxReason:
		message = fmt.Sprintf("may have at most %d characters, got %d", MaxReason, n)
	}
	if message != "" {
		return "", problem.InvalidRequest(problem.Field{Field: field, Message: message})
	}
	return text, nil
}
