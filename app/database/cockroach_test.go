package database_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/pulsecast/pulsecast/app/database"
)

// TestCockroachIsRefused opens a server that identifies itself as CockroachDB.
func TestCockroachIsRefused(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go introduce(conn)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	db, err := database.Open(ctx, "postgres://root@"+listener.Addr().String()+"/pulsecast?sslmode=disable")
	if err == nil {
		t.Error(db.Close())
	}
	if err == nil || !strings.Contains(err.Error(), "DATABASE_URL names a CockroachDB") || database.MayStart(err) {
		t.Errorf("opening a CockroachDB: got error %v", err)
	}
}

// introduce greets a client as CockroachDB does and answers its pings until it leaves.
func introduce(conn net.Conn) {
	defer conn.Close()
	server := pgproto3.NewBackend(conn, conn)
	if _, err := server.ReceiveStartupMessage(); err != nil {
		return
	}
	server.Send(&pgproto3.AuthenticationOk{})
	server.Send(&pgproto3.ParameterStatus{Name: "crdb_version", Value: "CockroachDB CCL v24.1.0"})
	server.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{0, 0, 0, 1}})
	server.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	if server.Flush() != nil {
		return
	}
	for {
		if _, err := server.Receive(); err != nil {
			return
		}
		server.Send(&pgproto3.EmptyQueryResponse{})
		server.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		if server.Flush() != nil {
			return
		}
	}
}
