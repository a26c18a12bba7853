ALTER TABLE admins ADD COLUMN issuer TEXT;
--bun:split
ALTER TABLE admins ADD COLUMN subject TEXT;
--bun:split
CREATE UNIQUE INDEX admins_subject ON admins (issuer, subject);
--bun:split
CREATE TABLE admin_flows (
  hash {{.BYTES}} PRIMARY KEY,
  expires_at {{.TS}} NOT NULL
);
--bun:split
CREATE INDEX admin_flows_expiry ON admin_flows (expires_at);
