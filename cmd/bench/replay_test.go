package main

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
)

const postgresLog = `2026-11-25 02:00:00.001 UTC [7] LOG:  statement: begin
2026-11-25 02:00:00.001 UTC [8] LOG:  statement: SELECT 1
2026-11-25 02:00:00.002 UTC [7] LOG:  execute stmtcache_1: SELECT
		x FROM t WHERE id = $1
2026-11-25 02:00:00.002 UTC [7] DETAIL:  parameters: $1 = 'it''s
	two lines', $2 = NULL, $3 = ''
2026-11-25 02:00:00.003 UTC [9] LOG:  checkpoint starting: immediate
2026-11-25 02:00:00.003 UTC [7] LOG:  execute stmtcache_2: INSERT INTO predictions (id) SELECT 1
2026-11-25 02:00:00.004 UTC [7] LOG:  statement: commit
2026-11-25 02:00:00.005 UTC [7] LOG:  statement: begin
2026-11-25 02:00:00.006 UTC [7] LOG:  statement: commit
`

func TestLastPublish(t *testing.T) {
	t.Parallel()
	got, err := lastPublish(postgresLog)
	want := []statement{
		{text: "begin"},
		{text: "SELECT\n\tx FROM t WHERE id = $1", extended: true, values: [][]byte{[]byte("it's\ntwo lines"), nil, {}}},
		{text: "INSERT INTO predictions (id) SELECT 1", extended: true},
		{text: "commit"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	if sent := messages(got); len(sent) != 2 || len(sent[0]) != 2 || !sent[1][0].inserts() {
		t.Errorf("the messages are %+v, want the reads and then the writes", sent)
	}
	for name, log := range map[string]string{
		"no publish":      strings.Replace(postgresLog, "INSERT INTO predictions", "INSERT INTO others", 1),
		"unknown details": strings.Replace(postgresLog, "parameters: ", "more: ", 1),
	} {
		if _, err := lastPublish(log); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestRenew checks that only the ids of the publish are replaced, and an id always by the same one.
func TestRenew(t *testing.T) {
	t.Parallel()
	now := time.Now()
	old, made := database.NewID(now.Add(-time.Hour)).String(), database.NewID(now).String()
	statements := []statement{
		{values: [][]byte{nil, []byte("{" + made + "," + old + "}")}}, {values: [][]byte{[]byte(made)}},
	}
	r := &replay{made: madeSince(statements, now)}
	if len(r.made) != 1 || string(r.made[0]) != made {
		t.Fatalf("made %q, want only %s", r.made, made)
	}
	fresh := [][]byte{[]byte("fresh")}
	for _, tt := range []struct{ value, want string }{
		{"{" + made + "," + old + "}", "{fresh," + old + "}"}, {made, "fresh"}, {old, old}, {"", ""},
	} {
		if got := string(r.renew([]byte(tt.value), fresh)); got != tt.want {
			t.Errorf("%s became %s, want %s", tt.value, got, tt.want)
		}
	}
	if r.renew(nil, fresh) != nil {
		t.Error("NULL became a value")
	}
}
