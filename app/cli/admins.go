package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/problem"
)

// NewAdminPassword makes up a password of 100 bits.
func NewAdminPassword() string { return admin.NewPassword() }

// AdminCreate makes an admin, who can sign in at /admin from then on.
func AdminCreate(ctx context.Context, cfg config.Config, name, password string, out io.Writer) error {
	return onAdmins(ctx, cfg, func(ctx context.Context, tx bun.Tx) error {
		now := time.Now()
		made, err := admin.Store{}.Create(ctx, tx, name, password, now)
		if err != nil {
			return err
		}
		if err := shellEntry(ctx, tx, admin.ActAdminCreated, made.Name, now); err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s can sign in at /admin\n", made.Name)
		return err
	})
}

// AdminSetPassword replaces an admin's password and ends their sessions.
func AdminSetPassword(ctx context.Context, cfg config.Config, name, password string, out io.Writer) error {
	return onAdmins(ctx, cfg, func(ctx context.Context, tx bun.Tx) error {
		changed, err := admin.Store{}.SetPassword(ctx, tx, name, password)
		if err != nil {
			return err
		}
		if err := shellEntry(ctx, tx, admin.ActAdminPassword, changed.Name, time.Now()); err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s has a new password and is signed out everywhere\n", changed.Name)
		return err
	})
}

// AdminRemove deletes an admin and ends their sessions.
func AdminRemove(ctx context.Context, cfg config.Config, name string, out io.Writer) error {
	return onAdmins(ctx, cfg, func(ctx context.Context, tx bun.Tx) error {
		if err := (admin.Store{}).Remove(ctx, tx, name); err != nil {
			return err
		}
		if err := shellEntry(ctx, tx, admin.ActAdminRemoved, name, time.Now()); err != nil {
			return err
		}
		_, err := fmt.Fprintf(out, "%s is no admin any more\n", name)
		return err
	})
}

// AdminList prints every admin, a line each.
func AdminList(ctx context.Context, cfg config.Config, out io.Writer) error {
	return withDatabase(ctx, cfg, func(db *database.DB) error {
		list, err := admin.Store{}.List(ctx, db.Reader)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tCREATED\tLAST SIGNED IN\tWITH")
		for _, a := range list {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", a.Name, stamp(a.CreatedAt), stamp(a.SignedInAt), cmp.Or(a.Issuer, "a password"))
		}
		return w.Flush()
	})
}

func onAdmins(ctx context.Context, cfg config.Config, run func(ctx context.Context, tx bun.Tx) error) error {
	return plainly(withDatabase(ctx, cfg, func(db *database.DB) error { return db.InTx(ctx, run) }))
}

// plainly says a refusal as the command line shows it: by its detail alone.
func plainly(err error) error {
	if p, ok := errors.AsType[*problem.Error](err); ok {
		return errors.New(p.Detail)
	}
	return err
}

func shellEntry(ctx context.Context, tx bun.Tx, action, name string, now time.Time) error {
	return shellAct(ctx, tx, admin.Entry{CreatedAt: now, Action: action, Target: admin.AdminTarget(name)})
}

// shellAct writes what was done on the command line to the audit log.
func shellAct(ctx context.Context, tx bun.Tx, e admin.Entry) error {
	e.Actor = admin.Shell
	if e.CreatedAt.IsZero() {
		e.CreatedAt = time.Now()
	}
	return admin.Store{}.Record(ctx, tx, e)
}

// resetAdmin makes an admin, or gives the one there is a new password.
func resetAdmin(ctx context.Context, tx bun.Tx, name, password string, now time.Time) error {
	var store admin.Store
	_, err := store.SetPassword(ctx, tx, name, password)
	action := admin.ActAdminPassword
	if problem.IsNotFound(err) {
		action = admin.ActAdminCreated
		_, err = store.Create(ctx, tx, name, password, now)
	}
	if err != nil {
		return err
	}
	return shellEntry(ctx, tx, action, name, now)
}
