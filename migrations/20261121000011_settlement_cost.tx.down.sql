{{if .PG}}
ALTER TABLE agent_days RESET (fillfactor);
--bun:split
ALTER TABLE clusters RESET (fillfactor);
--bun:split
ALTER TABLE agent_tallies RESET (fillfactor);
--bun:split
{{end}}
DROP INDEX agent_activity_settled;
--bun:split
DROP INDEX agent_activity_predictions;
--bun:split
ALTER TABLE agent_activity DROP COLUMN settled;
--bun:split
ALTER TABLE agent_activity DROP COLUMN predictions;
--bun:split
CREATE INDEX agent_tallies_resolved ON agent_tallies (resolved, agent_id);
--bun:split
CREATE INDEX agent_tallies_total ON agent_tallies (total, agent_id);
--bun:split
CREATE INDEX score_entries_age ON score_entries (created_at);
