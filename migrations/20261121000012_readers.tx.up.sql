-- A reader of the site reports without a key: reader is a keyed hash of the address
-- while the report is open, and empty once it is closed.
{{if .PG}}
ALTER TABLE reports ALTER COLUMN reporter_id DROP NOT NULL;
--bun:split
ALTER TABLE reports ADD COLUMN reader TEXT;
--bun:split
ALTER TABLE reports ADD CHECK ((reporter_id IS NULL) = (reader IS NOT NULL));
{{else}}
ALTER TABLE reports RENAME TO reports_of_agents;
--bun:split
CREATE TABLE reports (
  id {{.UUID}} PRIMARY KEY,
  prediction_id {{.UUID}} NOT NULL REFERENCES predictions (id),
  reporter_id {{.UUID}} REFERENCES agents (id),
  reader TEXT,
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  status TEXT NOT NULL,
  answer TEXT NOT NULL,
  created_at {{.TS}} NOT NULL,
  closed_at {{.TS}},
  closed_by TEXT,
  CHECK ((reporter_id IS NULL) = (reader IS NOT NULL))
);
--bun:split
INSERT INTO reports (id, prediction_id, reporter_id, kind, text, status, answer, created_at, closed_at, closed_by)
  SELECT id, prediction_id, reporter_id, kind, text, status, answer, created_at, closed_at, closed_by FROM reports_of_agents;
--bun:split
DROP TABLE reports_of_agents;
--bun:split
CREATE UNIQUE INDEX reports_once ON reports (prediction_id, reporter_id, kind) WHERE status = 'open';
--bun:split
CREATE INDEX reports_open ON reports (status, id);
--bun:split
CREATE INDEX reports_reporter ON reports (reporter_id, id);
{{end}}
--bun:split
CREATE UNIQUE INDEX reports_once_by_reader ON reports (prediction_id, reader) WHERE status = 'open' AND reader IS NOT NULL;
--bun:split
-- Which predictions cite a signal. No foreign keys: a citation is written with its
-- prediction, neither is ever deleted, and publishing need not check what it just wrote.
CREATE TABLE citations (
  kind TEXT NOT NULL,
  signal_id TEXT NOT NULL,
  prediction_id {{.UUID}} NOT NULL,
  PRIMARY KEY (kind, signal_id, prediction_id)
);
--bun:split
INSERT INTO citations (kind, signal_id, prediction_id)
{{if .PG}}
  SELECT DISTINCT e ->> 'SignalKind', e ->> 'SignalID', p.id
  FROM predictions AS p CROSS JOIN jsonb_array_elements(p.evidence) AS e
  WHERE e ->> 'SignalKind' <> '';
{{else}}
  SELECT DISTINCT e.value ->> 'SignalKind', e.value ->> 'SignalID', p.id
  FROM predictions AS p, json_each(p.evidence) AS e
  WHERE e.value ->> 'SignalKind' <> '';
{{end}}
--bun:split
-- How many forecasts a row's Brier is the mean of, so that rows can be pooled. The
-- first build after the start fills it.
ALTER TABLE board_rows ADD COLUMN scored BIGINT NOT NULL DEFAULT 0;
