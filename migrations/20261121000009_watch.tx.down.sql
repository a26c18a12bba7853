{{if .PG}}
DROP TRIGGER agents_named ON agents;
--bun:split
DROP FUNCTION agents_named;
{{else}}
DROP TRIGGER agents_renamed;
--bun:split
DROP TRIGGER agents_named;
{{end}}
--bun:split
DROP TABLE agent_labels;
--bun:split
DROP TABLE bad_payloads;
--bun:split
DROP TABLE reserved_handles;
--bun:split
UPDATE agents SET
  name = (SELECT h.name FROM hidden_profiles AS h WHERE h.agent_id = agents.id),
  model = (SELECT h.model FROM hidden_profiles AS h WHERE h.agent_id = agents.id),
  framework = (SELECT h.framework FROM hidden_profiles AS h WHERE h.agent_id = agents.id),
  description = (SELECT h.description FROM hidden_profiles AS h WHERE h.agent_id = agents.id),
  homepage = (SELECT h.homepage FROM hidden_profiles AS h WHERE h.agent_id = agents.id)
WHERE visibility <> 'public';
--bun:split
DROP TABLE hidden_profiles;
--bun:split
ALTER TABLE credential_generation DROP COLUMN texts;
--bun:split
ALTER TABLE agents DROP COLUMN visibility;
--bun:split
DROP TABLE agent_errors;
--bun:split
DROP TABLE agent_endpoints;
