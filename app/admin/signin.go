package admin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/network"
	"github.com/pulsecast/pulsecast/app/problem"
)

// Limits of failed sign-ins within failWindow: for one name from one address, for any name from one
// address, for both from one IPv6 /48, and for one name from any address. The last limit is high, and
// counts nothing that an earlier one refuses, so that a stranger can't easily lock an admin out.
const (
	failWindow     = 15 * time.Minute
	maxFromHere    = 8
	maxFromAddress = 60 // counts successes too
	blockShare     = 4  // a /48 may have this many times as many as an address
	maxAnywhere    = 200
)

// checks bounds how many sign-ins are checked at once. Hashing takes two processors, and the others wait.
var checks = make(chan struct{}, 16)

// The subjects of the limits for one name.
func fromHere(name, address string) string { return "a:" + name + "|" + network.Of(address) }
func fromBlock(name, block string) string  { return "b:" + name + "|" + block }
func fromAnywhere(name string) string      { return "n:" + name }

// ofAddress returns the limits for any name from an address.
func ofAddress(address string) []limit {
	limits := []limit{{"i:" + network.Of(address), maxFromAddress}}
	if block, ok := network.Block(address); ok {
		limits = append(limits, limit{"j:" + block, blockShare * maxFromAddress})
	}
	return limits
}

// attempts counts failed sign-ins of a subject. The count restarts when the window is over.
type attempts struct {
	bun.BaseModel `bun:"table:admin_attempts,alias:q"`

	Subject  string `bun:",pk"`
	Since    time.Time
	Failures int64
}

// SignIn checks a name and a password and starts a session. Refusals: 401 invalid_sign_in, which
// doesn't say whether the name or the password is wrong, 429 rate_limited, and 503 unavailable while too many
// sign-ins are being checked.
func (s Store) SignIn(
	ctx context.Context, db *database.DB, name, password, address string, now time.Time,
) (token string, a *Admin, err error) {
	name = strings.ToLower(strings.TrimSpace(name))
	if !validName.MatchString(name) {
		name = "" // no admin has this name; a database may be unable to hold the one sent
	}
	limits := append([]limit{{fromHere(name, address), maxFromHere}}, ofAddress(address)...)
	ofName := []string{fromHere(name, address), fromAnywhere(name)}
	if block, ok := network.Block(address); ok {
		limits, ofName = append(limits, limit{fromBlock(name, block), blockShare * maxFromHere}), append(ofName, fromBlock(name, block))
	}
	// Refuse without a place and without a write, so that addresses with no attempts left cost little.
	if err = s.spent(ctx, db.Reader, now, limits); err != nil {
		return "", nil, err
	}
	select {
	case checks <- struct{}{}:
		defer func() { <-checks }()
	default:
		return "", nil, problem.Busy("Too many sign-ins are being checked. Try again in a moment.", time.Second)
	}
	if known, err := cameFrom(ctx, db.Reader, name, address, now); err != nil {
		return "", nil, err
	} else if !known {
		limits = append(limits, limit{fromAnywhere(name), maxAnywhere})
	}
	// Count the attempt before checking it, so that many simultaneous attempts can't pass the
	// limit. A success removes the count.
	if err = s.count(ctx, db, now, limits...); err != nil {
		return "", nil, err
	}
	if a, err = s.byName(ctx, db.Reader, name); err != nil {
		return "", nil, err
	}
	stored := decoyHash()
	known := a != nil && a.Password != ""
	if known {
		stored = a.Password
	}
	if len(password) > MaxPassword || !matches(stored, password) || !known {
		return "", nil, wrongSignIn()
	}
	err = db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := confirm(ctx, tx, a); err != nil {
			return err
		}
		if token, err = s.StartSession(ctx, tx, a, address, now); err != nil {
			return err
		}
		if _, err := tx.NewDelete().Model((*attempts)(nil)).Where("subject IN (?)", bun.List(ofName)).Exec(ctx); err != nil {
			return fmt.Errorf("forget failed sign-ins: %w", err)
		}
		return audit.Record(ctx, tx, audit.Entry{
			Actor: a.Name, Action: audit.SignIn, Target: audit.AdminTarget(a.Name), Address: address, CreatedAt: now,
		})
	})
	return token, a, err
}

// knownFor is how long an address counts as one of an admin's after a sign-in.
const knownFor = 30 * 24 * time.Hour

// cameFrom reports whether an admin has lately signed in from the address. Strangers elsewhere can't lock it out.
func cameFrom(ctx context.Context, db bun.IDB, name, address string, now time.Time) (bool, error) {
	if name == "" {
		return false, nil
	}
	signIns, _, err := audit.List(ctx, db, audit.Filter{
		Target: audit.AdminTarget(name), Action: audit.SignIn, From: now.Add(-knownFor), Limit: 100,
	})
	return slices.ContainsFunc(signIns, func(e audit.Entry) bool { return network.Of(e.Address) == network.Of(address) }), err
}

func wrongSignIn() error {
	return problem.New(problem.CodeInvalidSignIn, "The name or the password is wrong.")
}

// confirm locks the row of an admin. It refuses the sign-in if the admin was removed or got another password while the
// old one was being checked.
func confirm(ctx context.Context, tx bun.Tx, a *Admin) error {
	var now string
	err := database.ForUpdate(tx.NewSelect().Model((*Admin)(nil)).Column("password").Where("id = ?", a.ID)).Scan(ctx, &now)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && now != a.Password:
		return wrongSignIn()
	case err != nil:
		return fmt.Errorf("read an admin again: %w", err)
	}
	return nil
}

// limit is how many attempts of a subject are allowed within failWindow.
type limit struct {
	subject string
	most    int64
}

// forgetAttempts deletes the counts of failed sign-ins under a name, from every address.
func forgetAttempts(ctx context.Context, tx bun.Tx, name string) error {
	here, block := fromHere(name, ""), fromBlock(name, "") // beginnings of the subjects, of the same length
	_, err := tx.NewDelete().Model((*attempts)(nil)).Where("subject = ?", fromAnywhere(name)).
		WhereOr("substr(subject, 1, ?) IN (?, ?)", len(here), here, block).Exec(ctx)
	if err != nil {
		return fmt.Errorf("forget failed sign-ins: %w", err)
	}
	return nil
}

// spent returns the refusal of an attempt that would exceed a limit, and otherwise nil. It counts nothing.
func (Store) spent(ctx context.Context, db bun.IDB, now time.Time, limits []limit) error {
	subjects := make([]string, len(limits))
	for i := range limits {
		subjects[i] = limits[i].subject
	}
	var rows []attempts
	err := db.NewSelect().Model(&rows).Where("subject IN (?)", bun.List(subjects)).Where("since > ?", database.Stored(now).Add(-failWindow)).Scan(ctx)
	if err != nil {
		return fmt.Errorf("read failed sign-ins: %w", err)
	}
	for _, row := range rows {
		i := slices.IndexFunc(limits, func(l limit) bool { return l.subject == row.Subject })
		if row.Failures >= limits[i].most {
			return tooMany(row.Since, now)
		}
	}
	return nil
}

// tooMany refuses attempts until the window that began at since is over.
func tooMany(since, now time.Time) error {
	wait := since.Add(failWindow).Sub(now)
	return problem.RateLimited(fmt.Sprintf("Too many failed sign-ins. Try again in %s.", wait.Round(time.Minute)+time.Minute), wait)
}

// count counts an attempt against each limit in turn, and stops at the first one that is exceeded.
func (Store) count(ctx context.Context, db *database.DB, now time.Time, limits ...limit) error {
	now = database.Stored(now)
	var refused error // returned after the commit, because a refused attempt counts
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
				refused = tooMany(row.Since, now)
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("count sign-ins: %w", err)
	}
	return refused
}
