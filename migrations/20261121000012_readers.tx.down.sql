ALTER TABLE board_rows DROP COLUMN scored;
--bun:split
DROP TABLE citations;
--bun:split
DROP INDEX reports_once_by_reader;
--bun:split
DELETE FROM reports WHERE reporter_id IS NULL;
--bun:split
{{if .PG}}
ALTER TABLE reports DROP COLUMN reader;
--bun:split
ALTER TABLE reports ALTER COLUMN reporter_id SET NOT NULL;
{{else}}
ALTER TABLE reports RENAME TO reports_of_all;
--bun:split
CREATE TABLE reports (
  id {{.UUID}} PRIMARY KEY,
  prediction_id {{.UUID}} NOT NULL REFERENCES predictions (id),
  reporter_id {{.UUID}} NOT NULL REFERENCES agents (id),
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  status TEXT NOT NULL,
  answer TEXT NOT NULL,
  created_at {{.TS}} NOT NULL,
  closed_at {{.TS}},
  closed_by TEXT
);
--bun:split
INSERT INTO reports (id, prediction_id, reporter_id, kind, text, status, answer, created_at, closed_at, closed_by)
  SELECT id, prediction_id, reporter_id, kind, text, status, answer, created_at, closed_at, closed_by FROM reports_of_all;
--bun:split
DROP TABLE reports_of_all;
--bun:split
CREATE UNIQUE INDEX reports_once ON reports (prediction_id, reporter_id, kind) WHERE status = 'open';
--bun:split
CREATE INDEX reports_open ON reports (status, id);
--bun:split
CREATE INDEX reports_reporter ON reports (reporter_id, id);
{{end}}
