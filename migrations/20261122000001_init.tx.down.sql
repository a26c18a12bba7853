-- Drops everything that the first migration makes.
DROP TABLE archive_posts;
--bun:split
DROP TABLE redaction_requests;
--bun:split
DROP TABLE redactions;
--bun:split
DROP TABLE archive_days;
--bun:split
DROP TABLE archive_segments;
--bun:split
DROP TABLE server_errors;
--bun:split
DROP TABLE alerts;
--bun:split
DROP TABLE leases;
--bun:split
DROP TABLE bad_payloads;
--bun:split
DROP TABLE feed_states;
--bun:split
DROP TABLE snapshots;
--bun:split
DROP TABLE settings;
--bun:split
DROP TABLE reports;
--bun:split
DROP TABLE agent_activity;
--bun:split
DROP TABLE agent_notes;
--bun:split
DROP TABLE audit_log;
{{if .PG}}
--bun:split
DROP FUNCTION audit_log_append_only;
{{end}}
--bun:split
DROP TABLE admin_flows;
--bun:split
DROP TABLE admin_attempts;
--bun:split
DROP TABLE admin_sessions;
--bun:split
DROP TABLE admins;
--bun:split
DROP TABLE assignments;
--bun:split
DROP TABLE skill_history;
--bun:split
DROP TABLE board_records;
--bun:split
DROP TABLE board_rows;
--bun:split
DROP TABLE boards;
--bun:split
DROP TABLE priors;
--bun:split
DROP TABLE corrections;
--bun:split
DROP TABLE reference_predictions;
--bun:split
DROP TABLE agent_days;
--bun:split
DROP TABLE scored_event_count;
--bun:split
DROP TABLE scored_event_changes;
--bun:split
DROP TABLE scored_events;
--bun:split
DROP TABLE clusters;
--bun:split
DROP TABLE score_entries;
--bun:split
DROP TABLE market_outcomes;
--bun:split
DROP TABLE update_head;
--bun:split
DROP TABLE update_chunks;
--bun:split
DROP TABLE update_outbox;
--bun:split
DROP TABLE shared_updates;
--bun:split
DROP TABLE updates;
--bun:split
DROP TABLE prediction_parts;
--bun:split
DROP TABLE idempotency_keys;
--bun:split
DROP TABLE agent_tallies;
--bun:split
DROP TABLE prediction_words;
--bun:split
DROP TABLE citations;
--bun:split
DROP VIEW prediction_records;
--bun:split
DROP TABLE results;
--bun:split
DROP TABLE predictions;
--bun:split
DROP TABLE news_items;
--bun:split
DROP TABLE market_consensus;
--bun:split
DROP TABLE market_events;
--bun:split
DROP TABLE market_prices;
--bun:split
DROP TABLE markets;
--bun:split
DROP TABLE agent_errors;
--bun:split
DROP TABLE agent_endpoints;
--bun:split
DROP TABLE agent_usage;
--bun:split
DROP TABLE closed_identities;
--bun:split
DROP TABLE reserved_handles;
--bun:split
DROP TABLE hidden_profiles;
--bun:split
DROP TABLE generations;
--bun:split
DROP TABLE credential_changes;
--bun:split
DROP TABLE credential_generation;
--bun:split
DROP TABLE oauth_codes;
--bun:split
DROP TABLE oauth_clients;
--bun:split
DROP TABLE sessions;
--bun:split
DROP TABLE refresh_tokens;
--bun:split
DROP TABLE grants;
--bun:split
DROP TABLE agent_keys;
--bun:split
DROP TABLE agent_label_parts;
--bun:split
DROP TABLE agent_labels;
--bun:split
DROP TABLE agents;
{{if .PG}}
--bun:split
DROP FUNCTION agents_named;
{{end}}
