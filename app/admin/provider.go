package admin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/uptrace/bun"
	"golang.org/x/text/unicode/norm"

	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/identity"
)

// FlowLife is how long a sign-in at the identity provider may take.
const FlowLife = 10 * time.Minute

// ErrNoFlow is returned if the secret of a flow is unknown, used or too old.
var ErrNoFlow = errors.New("no such sign-in at the provider")

// flow is a sign-in at the identity provider that is in progress. Only the hash of its secret is
// stored. The browser holds the secret.
type flow struct {
	bun.BaseModel `bun:"table:admin_flows,alias:f"`

	Hash      []byte `bun:",pk"`
	ExpiresAt time.Time
}

// BeginFlow stores a new flow and returns its secret. It counts as an attempt to sign in from this
// address. After too many attempts it returns 429 rate_limited.
func (s Store) BeginFlow(ctx context.Context, db *database.DB, address string, now time.Time) (secret string, err error) {
	if err := s.count(ctx, db, now, ofAddress(address)...); err != nil {
		return "", err
	}
	now = database.Stored(now)
	secret = NewToken()
	err = db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewDelete().Model((*flow)(nil)).Where("expires_at <= ?", now).Exec(ctx); err != nil {
			return err
		}
		_, err := tx.NewInsert().Model(&flow{Hash: hashToken(secret), ExpiresAt: now.Add(FlowLife)}).Exec(ctx)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("begin sign-in at the provider: %w", err)
	}
	return secret, nil
}

// EndFlow uses up a flow. It returns ErrNoFlow if the flow can't be used. If several calls pass the
// same secret, one succeeds.
func (Store) EndFlow(ctx context.Context, db *database.DB, secret string, now time.Time) error {
	f := &flow{Hash: hashToken(secret)}
	// Read first, so that a made-up secret doesn't take the database's write lock.
	err := db.Reader.NewSelect().Model(f).WherePK().Where("expires_at > ?", database.Stored(now)).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNoFlow
	}
	if err != nil {
		return fmt.Errorf("find sign-in at the provider: %w", err)
	}
	res, err := db.NewDelete().Model(f).WherePK().Exec(ctx)
	if err != nil {
		return fmt.Errorf("end sign-in at the provider: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, ErrNoFlow)
	}
	return nil
}

// SignInPerson starts a session for a person whom the identity provider names as an admin. The
// first sign-in creates the admin. The admin's name is made from the provider's name for the
// person, with a number if it is taken. It never changes afterwards, because the audit log refers
// to it.
func (s Store) SignInPerson(
	ctx context.Context, db *database.DB, who identity.Person, address string, now time.Time,
) (token string, a *Admin, err error) {
	err = db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var made bool
		if a, made, err = s.ofPerson(ctx, tx, who, now); err != nil {
			return err
		}
		entry := audit.Entry{Actor: a.Name, Target: audit.AdminTarget(a.Name), Address: address, CreatedAt: now, Note: "through " + who.Issuer}
		if made {
			entry.Action, entry.After = audit.AdminCreated, "subject "+who.Subject
			if err := audit.Record(ctx, tx, entry); err != nil {
				return err
			}
		}
		if token, err = s.StartSession(ctx, tx, a, address, now); err != nil {
			return err
		}
		entry.Action, entry.After = audit.SignIn, ""
		return audit.Record(ctx, tx, entry)
	})
	return token, a, err
}

// ofPerson returns the admin of a person. If there is none, it creates one and made is true.
func (s Store) ofPerson(
	ctx context.Context, tx bun.Tx, who identity.Person, now time.Time,
) (a *Admin, made bool, err error) {
	wanted, at := nameFrom(who.Name), database.Stored(now)
	for n := 1; n < 1000; n++ {
		if a, err = s.bySubject(ctx, tx, who); a != nil || err != nil {
			return a, false, err
		}
		name := wanted
		if n > 1 {
			name += "-" + strconv.Itoa(n)
		}
		a = &Admin{ID: database.NewID(at), Name: name, Issuer: who.Issuer, Subject: who.Subject, CreatedAt: at}
		res, err := tx.NewInsert().Model(a).On("CONFLICT DO NOTHING").Exec(ctx)
		if err != nil {
			return nil, false, fmt.Errorf("create admin: %w", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 1 {
			return a, true, err
		}
	}
	return nil, false, fmt.Errorf("create admin: every name like %q is taken", wanted)
}

// bySubject returns nil if there is no admin for the person.
func (Store) bySubject(ctx context.Context, db bun.IDB, who identity.Person) (*Admin, error) {
	a := new(Admin)
	err := db.NewSelect().Model(a).Where("issuer = ?", who.Issuer).Where("subject = ?", who.Subject).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find admin: %w", err)
	}
	return a, nil
}

// nameFrom makes an admin's name from the provider's name for a person.
func nameFrom(text string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '_':
			return r
		case unicode.Is(unicode.Mn, r): // the accent of the previous letter
			return -1
		}
		return '-'
	}, norm.NFKD.String(strings.ToLower(text)))
	name = strings.Trim(name[:min(len(name), 56)], "-._")
	if name == "" {
		return "admin"
	}
	return name
}
