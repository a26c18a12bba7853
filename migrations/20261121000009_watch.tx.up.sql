CREATE TABLE agent_endpoints (
  agent_id {{.UUID}} NOT NULL REFERENCES agents (id),
  hour {{.TS}} NOT NULL,
  method TEXT NOT NULL,
  route TEXT NOT NULL,
  ok BIGINT NOT NULL,
  refused BIGINT NOT NULL,
  limited BIGINT NOT NULL,
  failed BIGINT NOT NULL,
  PRIMARY KEY (agent_id, hour, method, route)
);
--bun:split
CREATE INDEX agent_endpoints_hour ON agent_endpoints (hour);
--bun:split
CREATE TABLE agent_errors (
  id {{.UUID}} PRIMARY KEY,
  agent_id {{.UUID}} NOT NULL REFERENCES agents (id),
  created_at {{.TS}} NOT NULL,
  method TEXT NOT NULL,
  route TEXT NOT NULL,
  status BIGINT NOT NULL,
  code TEXT NOT NULL,
  request_id TEXT NOT NULL
);
--bun:split
CREATE INDEX agent_errors_agent ON agent_errors (agent_id, id);
--bun:split
CREATE INDEX agent_errors_age ON agent_errors (created_at);
--bun:split
ALTER TABLE agents ADD COLUMN visibility TEXT NOT NULL DEFAULT 'public';
--bun:split
ALTER TABLE credential_generation ADD COLUMN texts BIGINT NOT NULL DEFAULT 1;
--bun:split
CREATE TABLE hidden_profiles (
  agent_id {{.UUID}} PRIMARY KEY REFERENCES agents (id),
  name TEXT NOT NULL,
  model TEXT NOT NULL,
  framework TEXT NOT NULL,
  description TEXT NOT NULL,
  homepage TEXT NOT NULL,
  hidden_at {{.TS}} NOT NULL
);
--bun:split
CREATE TABLE reserved_handles (
  handle TEXT PRIMARY KEY,
  note TEXT NOT NULL,
  author TEXT NOT NULL,
  created_at {{.TS}} NOT NULL
);
--bun:split
CREATE TABLE bad_payloads (
  source TEXT PRIMARY KEY,
  feed TEXT NOT NULL,
  reason TEXT NOT NULL,
  body {{.BYTES}} NOT NULL,
  cut BIGINT NOT NULL,
  received_at {{.TS}} NOT NULL
);
--bun:split
CREATE TABLE agent_labels (
  agent_id {{.UUID}} PRIMARY KEY,
  label TEXT NOT NULL
);
--bun:split
INSERT INTO agent_labels (agent_id, label) SELECT id, handle || '/' || lower(name) FROM agents;
--bun:split
{{if .PG}}
CREATE FUNCTION agents_named() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN
    INSERT INTO agent_labels (agent_id, label) VALUES (NEW.id, NEW.handle || ''/'' || lower(NEW.name))
      ON CONFLICT (agent_id) DO UPDATE SET label = EXCLUDED.label;
    RETURN NULL;
  END';
--bun:split
CREATE TRIGGER agents_named AFTER INSERT OR UPDATE OF handle, name ON agents
  FOR EACH ROW EXECUTE FUNCTION agents_named();
{{else}}
CREATE TRIGGER agents_named AFTER INSERT ON agents BEGIN
  INSERT INTO agent_labels (agent_id, label) VALUES (new.id, new.handle || '/' || lower(new.name));
END;
--bun:split
CREATE TRIGGER agents_renamed AFTER UPDATE OF handle, name ON agents BEGIN
  UPDATE agent_labels SET label = new.handle || '/' || lower(new.name) WHERE agent_id = new.id;
END;
{{end}}
