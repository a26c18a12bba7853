DROP VIEW predictions;
--bun:split
ALTER TABLE forecasts RENAME TO predictions;
--bun:split
ALTER TABLE predictions ADD COLUMN baseline_state TEXT NOT NULL DEFAULT '';
--bun:split
ALTER TABLE predictions ADD COLUMN baseline {{.FLOAT}};
--bun:split
ALTER TABLE predictions ADD COLUMN baseline_before {{.FLOAT}};
--bun:split
ALTER TABLE predictions ADD COLUMN baseline_after {{.FLOAT}};
--bun:split
ALTER TABLE predictions ADD COLUMN baseline_previous {{.FLOAT}};
--bun:split
ALTER TABLE predictions ADD COLUMN baseline_observed_at {{.TS}};
--bun:split
ALTER TABLE predictions ADD COLUMN weight_index BIGINT;
--bun:split
ALTER TABLE predictions ADD COLUMN status TEXT NOT NULL DEFAULT '';
--bun:split
ALTER TABLE predictions ADD COLUMN resolution_value {{.FLOAT}};
--bun:split
ALTER TABLE predictions ADD COLUMN resolution_outcome TEXT;
--bun:split
ALTER TABLE predictions ADD COLUMN resolution_source TEXT;
--bun:split
ALTER TABLE predictions ADD COLUMN resolution_note TEXT;
--bun:split
ALTER TABLE predictions ADD COLUMN resolved_at {{.TS}};
--bun:split
ALTER TABLE predictions ADD COLUMN brier {{.FLOAT}};
--bun:split
ALTER TABLE predictions ADD COLUMN edge BIGINT;
--bun:split
ALTER TABLE predictions ADD COLUMN log_edge {{.FLOAT}};
--bun:split
ALTER TABLE predictions ADD COLUMN rules_version TEXT;
--bun:split
ALTER TABLE predictions ADD COLUMN ruled BOOLEAN NOT NULL DEFAULT FALSE;
--bun:split
UPDATE predictions AS p SET baseline_state = s.baseline_state, baseline = s.baseline, baseline_before = s.baseline_before, baseline_after = s.baseline_after, baseline_previous = s.baseline_previous, baseline_observed_at = s.baseline_observed_at, weight_index = s.weight_index, status = s.status, resolution_value = s.resolution_value, resolution_outcome = s.resolution_outcome, resolution_source = s.resolution_source, resolution_note = s.resolution_note, resolved_at = s.resolved_at, brier = s.brier, edge = s.edge, log_edge = s.log_edge, rules_version = s.rules_version, ruled = s.ruled
  FROM standings AS s WHERE s.id = p.id;
--bun:split
{{if .PG}}
ALTER TABLE predictions ALTER COLUMN baseline_state DROP DEFAULT;
--bun:split
ALTER TABLE predictions ALTER COLUMN status DROP DEFAULT;
--bun:split
{{end}}
DROP TABLE standings;
--bun:split
CREATE INDEX predictions_status ON predictions (status, id);
--bun:split
CREATE INDEX predictions_resolved ON predictions (resolved_at, id) WHERE resolved_at IS NOT NULL;
--bun:split
CREATE INDEX predictions_edge ON predictions (edge, id) WHERE edge IS NOT NULL;
--bun:split
CREATE INDEX predictions_baseline ON predictions (market_id, created_at) WHERE baseline_state = 'pending';
--bun:split
CREATE INDEX predictions_open_market ON predictions (status, market_id) WHERE status = 'open' AND market_id IS NOT NULL;
--bun:split
CREATE INDEX predictions_due ON predictions (horizon_at, id) WHERE status = 'open' AND market_id IS NULL;
--bun:split
CREATE INDEX predictions_open ON predictions (agent_id, scheduled_close_at) WHERE status = 'open';
