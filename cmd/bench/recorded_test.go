package main

import (
	"strings"
	"testing"
)

func texts(values ...string) []*string {
	out := make([]*string, len(values))
	for i := range values {
		if values[i] != "NULL" {
			out[i] = &values[i]
		}
	}
	return out
}

func exampleRecording() *recording {
	return &recording{rows: []storedRow{
		{
			table: "agent_tallies", columns: []string{"agent_id", "total"}, types: []string{"uuid", "bigint"}, key: []string{"agent_id"},
			values: texts("agent-1", "2"),
		},
		{
			table: "market_counts", columns: []string{"market_id", "predictions"}, types: []string{"text", "bigint"}, key: []string{"market_id"},
			values: texts("m", "9"),
		},
		{
			table: "predictions", inserted: true, columns: []string{"agent_id", "id", "title", "outcome", "created_at"},
			types: []string{"uuid", "uuid", "text", "text", "timestamp with time zone"}, key: []string{"agent_id", "id"},
			values: texts("agent-1", "id-1", `It's \ 12:30`, "NULL", "2026-11-22 10:00:00+00"),
		},
		{
			table: "citations", inserted: true, columns: []string{"signal_id", "prediction_id", "agent_id"}, types: []string{"text", "uuid", "uuid"},
			key: []string{"signal_id", "prediction_id"}, values: texts("n", "id-1", "agent-1"),
		},
		{
			table: keyTable, inserted: true, columns: []string{"agent_id", "key", "response"}, types: []string{"uuid", "text", "text"},
			key: []string{"agent_id", "key"}, values: texts("agent-1", "first", "{}"),
		},
	}}
}

// TestScript checks that predictions come first, that ids and agents are replaced everywhere, and
// that rows which all publishes update are left out.
func TestScript(t *testing.T) {
	t.Parallel()
	want := variables + `BEGIN;
INSERT INTO "predictions" ("agent_id", "id", "title", "outcome", "created_at") VALUES (` + someAgent + ", " + newID + `, E'It''s \\ 12\x3A30', NULL, now());
UPDATE "agent_tallies" SET "total" = E'2' WHERE "agent_id" = ` + someAgent + `;
INSERT INTO "citations" ("signal_id", "prediction_id", "agent_id") VALUES (E'n', ` + newID + ", " + someAgent + `);
COMMIT;
`
	if got := exampleRecording().without(keyTable).script(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestGroupScript checks that one statement writes a row for each publish of a group.
func TestGroupScript(t *testing.T) {
	t.Parallel()
	id := `CAST('0198aaaa00007000' || lpad(to_hex(CAST(:number + k AS bigint)), 16, '0') AS uuid)`
	anyAgent := `CAST('0198bbbb00007000' || lpad(to_hex(CAST((:agent + k) % :agents + 1 AS bigint)), 16, '0') AS uuid)`
	want := variables + `BEGIN;
INSERT INTO "predictions" ("agent_id", "id", "title", "outcome", "created_at") SELECT ` + anyAgent + ", " + id + `, E'It''s \\ 12\x3A30', NULL, now() FROM generate_series(1, 64) AS k;
UPDATE "agent_tallies" SET "total" = E'2' FROM generate_series(1, 64) AS k WHERE "agent_id" = ` + anyAgent + `;
INSERT INTO "citations" ("signal_id", "prediction_id", "agent_id") SELECT E'n', ` + id + ", " + anyAgent + ` FROM generate_series(1, 64) AS k;
INSERT INTO "idempotency_keys" ("agent_id", "key", "response") SELECT ` + anyAgent + `, 'key-' || (:number + k), E'{}' FROM generate_series(1, 64) AS k;
COMMIT;
`
	if got := exampleRecording().groupScript(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRecordingIsChecked(t *testing.T) {
	t.Parallel()
	r := exampleRecording()
	if err := r.check(); err == nil {
		t.Error("got no error for a recording with only three inserted rows")
	}
	r.rows[1].inserted = true
	if err := r.without(keyTable).check(); err == nil {
		t.Error("got no error for a recording without a key")
	}
	if err := r.check(); err != nil {
		t.Error(err)
	}
	if got := r.String(); !strings.Contains(got, "updates agent_tallies, inserts into market_counts, inserts into predictions") {
		t.Errorf("got the description %q", got)
	}
}

func TestThesesAreRealistic(t *testing.T) {
	t.Parallel()
	for _, text := range theses(8) {
		if len(text) < 1100 || len(text) > 1500 || strings.ContainsAny(text, "\"\\\n") {
			t.Errorf("%d characters: %.60s", len(text), text)
		}
	}
}
