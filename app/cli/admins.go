package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/cli/remote"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/problem"
)

type admins struct {
	Create   adminCreate   `cmd:"" help:"Create an admin. The password is asked for, read from ADMIN_PASSWORD, or generated with --generate."`
	Password adminPassword `cmd:"" help:"Set a new password for an admin, given as for create, and sign them out everywhere."`
	List     adminList     `cmd:"" help:"List the admins."`
	Remove   adminRemove   `cmd:"" help:"Remove an admin and sign them out everywhere."`
}

// adminNamed is a command about one admin.
type adminNamed struct {
	config.Config
	Name string `arg:"" help:"Name to sign in with."`
}

// adminSecret is a command that sets an admin's password.
type adminSecret struct {
	adminNamed
	Generate bool `help:"Generate a password and print it once; ADMIN_PASSWORD is ignored."`
}

type (
	adminCreate   struct{ adminSecret }
	adminPassword struct{ adminSecret }
	adminRemove   struct{ adminNamed }
	adminList     struct{ config.Config }
)

func (a *adminCreate) Run(ctx context.Context, t *remote.Terminal) error {
	if err := makeDatabase(ctx, a.Config); err != nil {
		return err
	}
	return a.withPassword(ctx, t, func(ctx context.Context, tx bun.Tx, password string) (string, error) {
		made, err := admin.Store{}.Create(ctx, tx, audit.Shell, a.Name, password, time.Now())
		if err != nil {
			return "", err
		}
		return made.Name + " can sign in at /admin", nil
	})
}

func (a *adminPassword) Run(ctx context.Context, t *remote.Terminal) error {
	return a.withPassword(ctx, t, func(ctx context.Context, tx bun.Tx, password string) (string, error) {
		changed, err := admin.Store{}.SetPassword(ctx, tx, audit.Shell, a.Name, password, time.Now())
		if err != nil {
			return "", err
		}
		return changed.Name + " has a new password and is signed out everywhere", nil
	})
}

func (a *adminRemove) Run(ctx context.Context) error {
	return a.inTx(ctx, func(ctx context.Context, tx bun.Tx) (string, error) {
		return a.Name + " is no longer an admin", admin.Store{}.Remove(ctx, tx, audit.Shell, a.Name, time.Now())
	})
}

// Run prints every admin, one per line.
func (a *adminList) Run(ctx context.Context) error {
	return withDatabase(ctx, a.Config, func(db *database.DB) error {
		list, err := admin.Store{}.List(ctx, db.Reader)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tCREATED\tLAST SIGNED IN\tWITH")
		for _, a := range list {
			fmt.Fprintf(
				w, "%s\t%s\t%s\t%s\n", a.Name, stamp(a.CreatedAt), stamp(a.SignedInAt), cmp.Or(a.Issuer, "a password"),
			)
		}
		return w.Flush()
	})
}

// inTx runs an act in a transaction and prints the act's message after the commit.
func (a *adminNamed) inTx(ctx context.Context, act func(ctx context.Context, tx bun.Tx) (did string, err error)) error {
	var did string
	err := withDatabase(ctx, a.Config, func(db *database.DB) error {
		return db.InTx(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
			did, err = act(ctx, tx)
			return err
		})
	})
	if err != nil {
		return refusalAsText(err)
	}
	_, err = fmt.Println(did)
	return err
}

// withPassword is inTx for an act with a password. It prints a generated password.
func (a *adminSecret) withPassword(
	ctx context.Context, t *remote.Terminal, act func(ctx context.Context, tx bun.Tx, password string) (string, error),
) error {
	password := admin.NewPassword()
	if !a.Generate {
		var err error
		if password, err = askPassword(ctx, t); err != nil {
			return err
		}
	}
	err := a.inTx(ctx, func(ctx context.Context, tx bun.Tx) (string, error) { return act(ctx, tx, password) })
	if err != nil || !a.Generate {
		return err
	}
	_, err = fmt.Printf("password %s\nIt is shown only here; keep it safe.\n", password)
	return err
}

// refusalAsText returns an error as the command line shows it. It keeps only the detail of a refusal.
func refusalAsText(err error) error {
	if p, ok := errors.AsType[*problem.Error](err); ok {
		return errors.New(p.Detail)
	}
	return err
}
