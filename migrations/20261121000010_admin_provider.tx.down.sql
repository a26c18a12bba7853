DROP TABLE admin_flows;
--bun:split
DELETE FROM admin_sessions WHERE admin_id IN (SELECT id FROM admins WHERE issuer IS NOT NULL);
--bun:split
DELETE FROM admins WHERE issuer IS NOT NULL;
--bun:split
DROP INDEX admins_subject;
--bun:split
ALTER TABLE admins DROP COLUMN subject;
--bun:split
ALTER TABLE admins DROP COLUMN issuer;
