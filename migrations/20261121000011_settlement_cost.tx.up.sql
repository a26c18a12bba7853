DROP INDEX score_entries_age;
--bun:split
DROP INDEX agent_tallies_total;
--bun:split
DROP INDEX agent_tallies_resolved;
--bun:split
ALTER TABLE agent_activity ADD COLUMN predictions BIGINT NOT NULL DEFAULT 0;
--bun:split
ALTER TABLE agent_activity ADD COLUMN settled BIGINT NOT NULL DEFAULT 0;
--bun:split
CREATE INDEX agent_activity_predictions ON agent_activity (predictions, agent_id);
--bun:split
CREATE INDEX agent_activity_settled ON agent_activity (settled, agent_id);
{{if .PG}}
--bun:split
ALTER TABLE agent_tallies SET (fillfactor = 70);
--bun:split
ALTER TABLE clusters SET (fillfactor = 80);
--bun:split
ALTER TABLE agent_days SET (fillfactor = 80);
{{end}}
