package backup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"modernc.org/sqlite"

	"github.com/pulsecast/pulsecast/app/database"
)

// pagesAtOnce is how many pages one step copies: 4 MiB. The backup can be cancelled between two
// steps.
const pagesAtOnce = 1024

// writeSQLite copies the pages of a SQLite file. It holds a read transaction, so that commits
// during the copy don't restart it. They wait in the log, which grows until the copy ends.
func writeSQLite(ctx context.Context, path, temp string) (r *Report, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no database at %s; check DATABASE_URL", path)
	}
	// The last connection to a file deletes the log when it closes. Open and Close keep the file of
	// a killed server from looking as if it had lost its log.
	source, err := database.Open(ctx, "sqlite://"+path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if !source.LostWAL().IsZero() {
		return nil, fmt.Errorf("%s was copied while it was served, or has lost its -wal file, so a backup would lack the latest changes; "+
			"run pulsecast doctor to see what to do", path)
	}
	predictions, err := copyPages(ctx, source.Reader.DB, temp)
	if err != nil {
		return nil, err
	}
	if err := tidy(ctx, temp); err != nil {
		return nil, err
	}
	got, err := inspectSQLite(ctx, temp)
	if err != nil {
		return nil, err
	}
	if got.Predictions != predictions {
		return nil, fmt.Errorf("the backup has %d predictions, but the database had %d", got.Predictions, predictions)
	}
	return &Report{Kind: database.SQLite, Predictions: predictions}, nil
}

func sqliteName(path string) string { return "file:" + (&url.URL{Path: path}).EscapedPath() }

// copyPages copies all pages as of one moment, and counts the predictions at that moment.
func copyPages(ctx context.Context, source *sql.DB, temp string) (predictions int64, err error) {
	conn, err := source.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return 0, err
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	if err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM predictions").Scan(&predictions); err != nil {
		return 0, fmt.Errorf("count predictions: %w", err)
	}
	return predictions, conn.Raw(func(driver any) error {
		from, ok := driver.(interface {
			NewBackup(uri string) (*sqlite.Backup, error)
		})
		if !ok {
			return fmt.Errorf("the driver %T can't make backups", driver)
		}
		b, err := from.NewBackup(sqliteName(temp))
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			if err = ctx.Err(); err == nil {
				more, err = b.Step(pagesAtOnce)
			}
		}
		return errors.Join(err, b.Finish())
	})
}

// tidy makes the copy a complete file: without a log, and without the mark of a file in use.
func tidy(ctx context.Context, temp string) (err error) {
	db, err := sql.Open("sqlite", sqliteName(temp)+"?_pragma=journal_mode(DELETE)&_pragma=synchronous(FULL)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	return database.UnmarkSQLite(ctx, db)
}

// Content describes the contents of a backup.
type Content struct {
	Kind        database.Kind
	Predictions int64
	Migrations  []string // names, in order
}

// inspectSQLite reads a whole file without changing it.
func inspectSQLite(ctx context.Context, path string) (c *Content, err error) {
	db, err := sql.Open("sqlite", sqliteName(path)+"?mode=ro&immutable=1")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := database.CheckSQLite(ctx, db); err != nil {
		return nil, err
	}
	c = &Content{Kind: database.SQLite}
	rows, err := db.QueryContext(ctx, "SELECT name FROM bun_migrations ORDER BY name")
	if err != nil {
		return nil, fmt.Errorf("it is not a Pulsecast database: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		c.Migrations = append(c.Migrations, name)
	}
	if err := rows.Err(); err != nil || len(c.Migrations) == 0 {
		return c, err
	}
	return c, db.QueryRowContext(ctx, "SELECT COUNT(*) FROM predictions").Scan(&c.Predictions)
}
