package backup

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pulsecast/pulsecast/app/database"
)

// errPooled says that a backup or a restore can't be made through a pooler. pg_dump and pg_restore set search_path outside a
// transaction. The pooler then gives the connection to other clients, which find no tables.
var errPooled = errors.New("DATABASE_URL leads through a connection pooler, whose other clients would find no tables after pg_dump or " +
	"pg_restore: name Postgres itself")

// writePostgres dumps a database and verifies the dump.
func writePostgres(ctx context.Context, address, temp string) (*Report, error) {
	predictions, err := dumpPostgres(ctx, address, temp)
	if err != nil {
		return nil, err
	}
	got, err := inspectPostgres(ctx, temp)
	if err != nil {
		return nil, err
	}
	if got.Predictions != predictions {
		return nil, fmt.Errorf("the backup has %d predictions, but the database had %d", got.Predictions, predictions)
	}
	return &Report{Kind: database.Postgres, Predictions: predictions}, nil
}

// dumpPostgres counts the predictions in a snapshot and runs pg_dump on the same snapshot. The snapshot ends with it,
// because Postgres keeps every earlier version of a row for as long as a snapshot may show it.
func dumpPostgres(ctx context.Context, address, temp string) (predictions int64, err error) {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return 0, fmt.Errorf("connect to Postgres: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	if pooled, err := database.IsPooled(ctx, conn); err != nil || pooled {
		return 0, cmp.Or(err, errPooled)
	}
	dump, err := toolFor(ctx, conn, "pg_dump")
	if err != nil {
		return 0, err
	}
	snapshot, predictions, err := beginSnapshot(ctx, conn)
	if err != nil {
		return 0, err
	}
	// pg_dump must write the rows of partitions under the name of the whole table, because
	// inspectPostgres counts by that name.
	cmd, err := client(ctx, dump, address, "--format=custom", "--no-owner", "--no-privileges", "--no-password",
		"--load-via-partition-root", "--snapshot="+snapshot, "--file="+temp)
	if err != nil {
		return 0, err
	}
	return predictions, run(cmd)
}

// beginSnapshot begins a transaction and exports its snapshot, which others can use while the
// transaction lasts.
func beginSnapshot(ctx context.Context, conn *pgx.Conn) (id string, predictions int64, err error) {
	if _, err := conn.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"); err != nil {
		return "", 0, err
	}
	if err := conn.QueryRow(ctx, "SELECT pg_export_snapshot()").Scan(&id); err != nil {
		return "", 0, fmt.Errorf("export a snapshot: %w", err)
	}
	if err := conn.QueryRow(ctx, "SELECT COUNT(*) FROM predictions").Scan(&predictions); err != nil {
		return "", 0, fmt.Errorf("count predictions: %w", err)
	}
	return id, predictions, nil
}

// toolFor finds a client program that is at least as new as the server.
func toolFor(ctx context.Context, conn *pgx.Conn, name string) (string, error) {
	var version int
	if err := conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		return "", fmt.Errorf("read the version of the server: %w", err)
	}
	return findTool(ctx, name, version/10000)
}

func run(cmd *exec.Cmd) error {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	return withOutput(cmd, cmd.Run(), stderr.String())
}

// inspectPostgres reads a whole archive of pg_dump: its list of contents, then the rows of each
// table.
func inspectPostgres(ctx context.Context, file string) (*Content, error) {
	restore, err := findTool(ctx, "pg_restore", 0)
	if err != nil {
		return nil, err
	}
	if err := run(exec.CommandContext(ctx, restore, "--list", file)); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, restore, "--data-only", "--file=-", file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &Content{Kind: database.Postgres}
	readErr := c.readScript(out)
	if readErr != nil { // otherwise pg_restore would wait for a reader
		_ = cmd.Process.Kill()
	}
	return c, cmp.Or(readErr, withOutput(cmd, cmd.Wait(), stderr.String()))
}

// readScript counts predictions and reads migrations in a script made by pg_restore.
func (c *Content) readScript(script io.Reader) error {
	lines := bufio.NewReaderSize(script, 1<<20)
	var names []string // columns of the current table
	table := ""
	for {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case table == "":
			table, names = copyOf(line)
		case line == `\.`:
			table = ""
		case table == "predictions":
			c.Predictions++
		case table == "bun_migrations":
			for i, value := range strings.Split(line, "\t") {
				if i < len(names) && names[i] == "name" {
					c.Migrations = append(c.Migrations, value)
				}
			}
		}
	}
}

// readLine returns the next line, cut to the size of the buffer.
func readLine(r *bufio.Reader) (string, error) {
	part, more, err := r.ReadLine()
	line := string(part)
	for more && err == nil {
		_, more, err = r.ReadLine()
	}
	return line, err
}

// copyOf parses a statement COPY schema.table (columns) FROM stdin. table is "" for any other line.
func copyOf(line string) (table string, columns []string) {
	rest, ok := strings.CutPrefix(line, "COPY ")
	if !ok || !strings.HasSuffix(line, " FROM stdin;") {
		return "", nil
	}
	name, rest, _ := strings.Cut(rest, " (")
	list, _, _ := strings.Cut(rest, ")")
	return name[strings.LastIndexByte(name, '.')+1:], strings.Split(list, ", ")
}
