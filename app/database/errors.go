package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// IsRowError reports whether the database refused the values of a statement: a value out of range,
// a broken constraint, or a text that can't be stored. The same statement can succeed with other
// values.
func IsRowError(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && len(e.Code) == 5 {
		switch e.Code[:2] {
		case "22", "23", "54": // data exception, integrity constraint violation, program limit exceeded
			return true
		}
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_ERROR, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH:
			return true
		}
	}
	return false
}

// tooManyConnections is the code with which Postgres refuses a connection when all its places are
// taken.
const tooManyConnections = "53300"

// Unavailable reports whether an error means that the database can't do this now but may do it
// later: it is gone, starting, full, read-only, silent, out of connections, or it aborted the
// transaction in favour of another. The statement was not at fault. If the error comes from a
// commit, the transaction may still have been stored.
func Unavailable(err error) bool {
	if err == nil {
		return false
	}
	for _, known := range []error{
		ErrUnanswered, context.DeadlineExceeded, driver.ErrBadConn, sql.ErrConnDone, net.ErrClosed, io.ErrUnexpectedEOF,
		pgx.ErrTxCommitRollback,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return unavailablePostgres(e.Code)
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return unavailableSQLite(e.Code())
	}
	return errors.As(err, new(*pgconn.ConnectError)) || errors.As(err, new(net.Error)) || pgconn.SafeToRetry(err)
}

// unavailablePostgres looks up an error code (Postgres manual, appendix A).
func unavailablePostgres(code string) bool {
	switch code {
	case "25006", // read_only_sql_transaction
		"25P03", // idle_in_transaction_session_timeout
		"40001", // serialization_failure
		"40003", // statement_completion_unknown
		"40P01", // deadlock_detected
		"55P03", // lock_not_available
		"3D000": // invalid_catalog_name: the whole database is gone
		return true
	}
	if len(code) != 5 {
		return false
	}
	switch code[:2] {
	case "08", "28", "53", "57", "58": // connection, authorization, resources, operator intervention, system
		return true
	}
	return false
}

// unavailableSQLite looks up a result code, which may be an extended one.
func unavailableSQLite(code int) bool {
	switch code & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT,
		sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// MayStart reports whether an error of Open may go away on a retry, for example because the
// database is starting. A wrong password or database name does not.
func MayStart(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && (strings.HasPrefix(e.Code, "28") || e.Code == "3D000") {
		return false
	}
	return Unavailable(err)
}
