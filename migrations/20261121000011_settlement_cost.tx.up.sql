DROP INDEX score_entries_age;
--bun:split
DROP INDEX agent_tallies_total;
--bun:split
DROP INDEX agent_tallies_resolved;
{{if .PG}}
--bun:split
ALTER TABLE agent_tallies SET (fillfactor = 70);
--bun:split
ALTER TABLE clusters SET (fillfactor = 80);
--bun:split
ALTER TABLE agent_days SET (fillfactor = 80);
{{end}}
