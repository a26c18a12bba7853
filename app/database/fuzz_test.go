package database

import (
	"net/url"
	"strings"
	"testing"
)

// FuzzAddress checks that an address of Postgres is either refused or makes a pool without
// connecting, and that neither the error nor Identity contains the password.
func FuzzAddress(f *testing.F) {
	const password = "hunter2-hunter2"
	for _, seed := range []string{
		"localhost/pulsecast", "localhost:5432,other:5433/x?target_session_attrs=read-write", "/db?host=/tmp&port=99999", "localhost/x?statement_cache_capacity=0",
		"localhost/x?sslmode=verify-full&sslrootcert=/nowhere", "localhost/x?connect_timeout=-1", "[::1/x", "%zz", "localhost/x?default_query_exec_mode=nonsense",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, rest string) {
		address := "postgres://user:" + password + "@" + rest
		db, _, err := poolOf("DATABASE_URL", address, nil)
		if err != nil {
			if !strings.Contains(err.Error(), "DATABASE_URL") || strings.Contains(err.Error(), password) {
				t.Errorf("%q: %v", rest, err)
			}
			return
		}
		if err := db.Close(); err != nil {
			t.Errorf("%q: %v", rest, err)
		}
		u, err := url.Parse(address)
		if err != nil || strings.Contains(u.Host+u.Path+u.RawQuery, password) {
			return
		}
		if identity := (&DB{Kind: Postgres}).Identity(address); strings.Contains(identity, password) {
			t.Errorf("%q: %s", rest, identity)
		}
	})
}
