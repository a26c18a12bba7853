// Package admin owns the accounts and sessions of admins. They sign in with a password or at the
// identity provider. The acts of admins are in package moderation. The audit log also records
// sign-ins and changes of accounts.
package admin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/problem"
)

// MinPassword is in characters, MaxPassword in bytes.
const (
	MinPassword = 12
	MaxPassword = 512
)

// Admin is a person who signs in either with a password or at the identity provider.
type Admin struct {
	bun.BaseModel `bun:"table:admins,alias:m"`

	ID         uuid.UUID `bun:",pk,type:uuid"`
	Name       string    // lower-case, unique
	Password   string    // argon2id hash and parameters, see hashPassword; "" if the admin has no password
	Issuer     string    `bun:",nullzero"` // of the provider; "" if the admin signs in with a password
	Subject    string    `bun:",nullzero"` // the provider's id of the person; unique with Issuer
	CreatedAt  time.Time
	SignedInAt time.Time `bun:",nullzero"`
}

// Store reads and writes admins and their sessions. It has no state.
type Store struct{}

var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9._@-]{0,63}$`)

// Create adds an admin and records that actor did it. Refusals: 422 invalid_request, 409
// name_taken.
func (s Store) Create(ctx context.Context, tx bun.Tx, actor, name, password string, now time.Time) (*Admin, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	if !validName.MatchString(name) {
		return nil, problem.InvalidRequest(problem.Field{Field: "name", Message: "must be 1 to 64 characters of a-z, 0-9 and . _ @ -, beginning with a letter or digit"})
	}
	if err := checkPassword(password); err != nil {
		return nil, err
	}
	at := database.Stored(now)
	a := &Admin{ID: database.NewID(at), Name: name, Password: hashPassword(password), CreatedAt: at}
	res, err := tx.NewInsert().Model(a).On("CONFLICT DO NOTHING").Exec(ctx)
	if err != nil {
		return nil, fmt.Errorf("create admin: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return nil, errors.Join(err, problem.New(problem.CodeNameTaken, fmt.Sprintf(
			"%q is an admin already. Set a new password for it, or choose another name.", name,
		)))
	}
	return a, record(ctx, tx, actor, audit.AdminCreated, a.Name, now)
}

func record(ctx context.Context, tx bun.Tx, actor, action, name string, now time.Time) error {
	return audit.Record(ctx, tx, audit.Entry{CreatedAt: now, Actor: actor, Action: action, Target: audit.AdminTarget(name)})
}

// SetPassword replaces an admin's password, ends their sessions, forgets the failed sign-ins under their name, and
// records that actor did it.
// Refusals: 422 invalid_request, 404 not_found, and 409 no_password for an admin of the identity
// provider. A password would stay valid after the provider withdraws the admin's access.
func (s Store) SetPassword(ctx context.Context, tx bun.Tx, actor, name, password string, now time.Time) (*Admin, error) {
	if err := checkPassword(password); err != nil {
		return nil, err
	}
	a, err := s.byName(ctx, tx, name)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, problem.NotFound(fmt.Sprintf("There is no admin %.64q.", name))
	}
	if a.Issuer != "" {
		return nil, problem.New(problem.CodeNoPassword, fmt.Sprintf(
			"%s signs in through %s and has no password here. Create another admin with a password.", a.Name, a.Issuer,
		))
	}
	a.Password = hashPassword(password)
	if _, err := tx.NewUpdate().Model(a).WherePK().Column("password").Exec(ctx); err != nil {
		return nil, fmt.Errorf("set password: %w", err)
	}
	if _, err := s.EndSessions(ctx, tx, a.ID); err != nil {
		return nil, err
	}
	if err := forgetAttempts(ctx, tx, a.Name); err != nil {
		return nil, err
	}
	return a, record(ctx, tx, actor, audit.AdminPassword, a.Name, now)
}

// Reset creates an admin, or gives an existing admin a new password.
func (s Store) Reset(ctx context.Context, tx bun.Tx, actor, name, password string, now time.Time) error {
	_, err := s.SetPassword(ctx, tx, actor, name, password, now)
	if problem.IsNotFound(err) {
		_, err = s.Create(ctx, tx, actor, name, password, now)
	}
	return err
}

// Remove deletes an admin and their sessions, and records that actor did it. The admin's entries
// stay in the audit log. An unknown name is 404 not_found.
func (s Store) Remove(ctx context.Context, tx bun.Tx, actor, name string, now time.Time) error {
	a, err := s.byName(ctx, tx, name)
	if err != nil {
		return err
	}
	if a == nil {
		return problem.NotFound(fmt.Sprintf("There is no admin %.64q.", name))
	}
	if _, err := s.EndSessions(ctx, tx, a.ID); err != nil {
		return err
	}
	if _, err := tx.NewDelete().Model(a).WherePK().Exec(ctx); err != nil {
		return fmt.Errorf("remove admin: %w", err)
	}
	return record(ctx, tx, actor, audit.AdminRemoved, a.Name, now)
}

// List returns all admins, ordered by name.
func (Store) List(ctx context.Context, db bun.IDB) ([]Admin, error) {
	var list []Admin
	if err := db.NewSelect().Model(&list).OrderExpr("name").Scan(ctx); err != nil {
		return nil, fmt.Errorf("list admins: %w", err)
	}
	for i := range list {
		list[i].CreatedAt, list[i].SignedInAt = list[i].CreatedAt.UTC(), list[i].SignedInAt.UTC()
	}
	return list, nil
}

// byName returns nil if no admin has this name.
func (Store) byName(ctx context.Context, db bun.IDB, name string) (*Admin, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	if !validName.MatchString(name) {
		return nil, nil
	}
	a := new(Admin)
	err := db.NewSelect().Model(a).Where("name = ?", name).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find admin: %w", err)
	}
	return a, nil
}

func checkPassword(password string) error {
	n := utf8.RuneCountInString(password)
	if n < MinPassword || len(password) > MaxPassword {
		return problem.InvalidRequest(problem.Field{Field: "password", Message: fmt.Sprintf(
			"must have at least %d characters and at most %d bytes", MinPassword, MaxPassword,
		)})
	}
	if strings.Count(password, password[:1]) == len(password) {
		return problem.InvalidRequest(problem.Field{Field: "password", Message: "must not be one character repeated"})
	}
	return nil
}
