package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/network"
	"github.com/pulsecast/pulsecast/app/problem"
)

// How often a sign-in may fail within failWindow: for one name from one address, and
// for any name from there, for one name from anywhere. The last is wide, so that a
// stranger cannot easily lock an admin out.
const (
	failWindow     = 15 * time.Minute
	maxFromHere    = 8
	maxFromAddress = 60 // all names together; successes count, too
	maxAnywhere    = 200
)

// attempts counts failed sign-ins; the count starts anew once the window is over.
type attempts struct {
	bun.BaseModel `bun:"table:admin_attempts,alias:q"`

	Subject  string `bun:",pk"`
	Since    time.Time
	Failures int64
}

// SignIn checks a name and a password and begins a session. Refusals: 401
// invalid_sign_in, which does not say what was wrong; 429 rate_limited.
func (s Store) SignIn(
	ctx context.Context, db *database.DB, name, password, address string, now time.Time,
) (token string, a *Admin, err error) {
	name = strings.ToLower(strings.TrimSpace(name))
	if !validName.MatchString(name) {
		name = "" // nobody's; some of these no database can hold
	}
	from := network.Of(address)
	here, anywhere := "a:"+name+"|"+from, "n:"+name
	// The attempt is counted before it is checked, so that many at once cannot all
	// slip through; a success takes it back.
	err = s.count(ctx, db, now, limit{here, maxFromHere}, limit{"i:" + from, maxFromAddress}, limit{anywhere, maxAnywhere})
	if err != nil {
		return "", nil, err
	}
	if a, err = s.byName(ctx, db.Reader, name); err != nil {
		return "", nil, err
	}
	stored := nobody()
	known := a != nil && a.Password != ""
	if known {
		stored = a.Password
	}
	if len(password) > MaxPassword || !matches(stored, password) || !known {
		return "", nil, problem.New(problem.CodeInvalidSignIn, "This name and password do not belong together.")
	}
	err = db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if token, err = s.StartSession(ctx, tx, a, address, now); err != nil {
			return err
		}
		if _, err := tx.NewDelete().Model((*attempts)(nil)).Where("subject IN (?, ?)", here, anywhere).Exec(ctx); err != nil {
			return fmt.Errorf("forget failed sign-ins: %w", err)
		}
		return audit.Record(ctx, tx, audit.Entry{
			Actor: a.Name, Action: audit.SignIn, Target: audit.AdminTarget(a.Name), Address: address, CreatedAt: now,
		})
	})
	return token, a, err
}

// limit is how often a subject may be counted within failWindow.
type limit struct {
	subject string
	most    int64
}

func (Store) count(ctx context.Context, db *database.DB, now time.Time, limits ...limit) error {
	now = database.Now(now)
	var refused error
	err := db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewDelete().Model((*attempts)(nil)).Where("since <= ?", now.Add(-failWindow)).Exec(ctx); err != nil {
			return err
		}
		for _, limit := range limits {
			row := attempts{Subject: limit.subject, Since: now, Failures: 1}
			if _, err := tx.NewInsert().Model(&row).On("CONFLICT (subject) DO UPDATE").Set("failures = q.failures + 1").Exec(ctx); err != nil {
				return err
			}
			if err := tx.NewSelect().Model(&row).WherePK().Scan(ctx); err != nil {
				return err
			}
			if row.Failures > limit.most {
				wait := row.Since.Add(failWindow).Sub(now)
				refused = errors.Join(refused, problem.RateLimited(fmt.Sprintf("Too many sign-ins failed. Try again in %s.", wait.Round(time.Minute)+time.Minute), wait))
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("count sign-ins: %w", err)
	}
	return refused
}
