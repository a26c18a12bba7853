-- What an agent wrote never changes, and lists find it by six indexes; where it stands
-- changes twice, and Postgres writes every index of a row that moves. So each has a table
-- of its own, and predictions is what both say.
ALTER TABLE predictions RENAME TO forecasts;
--bun:split
DROP INDEX predictions_status;
--bun:split
DROP INDEX predictions_resolved;
--bun:split
DROP INDEX predictions_edge;
--bun:split
DROP INDEX predictions_baseline;
--bun:split
DROP INDEX predictions_open_market;
--bun:split
DROP INDEX predictions_due;
--bun:split
DROP INDEX predictions_open;
--bun:split
-- The columns up to created_at repeat the forecast's, for the indexes over what is open.
-- No foreign key: a standing is written with its forecast, and neither is ever deleted.
CREATE TABLE standings (
  id {{.UUID}} PRIMARY KEY,
  agent_id {{.UUID}} NOT NULL,
  market_id TEXT,
  horizon_at {{.TS}} NOT NULL,
  scheduled_close_at {{.TS}},
  sample BOOLEAN NOT NULL,
  created_at {{.TS}} NOT NULL,
  baseline_state TEXT NOT NULL,
  baseline {{.FLOAT}},
  baseline_before {{.FLOAT}},
  baseline_after {{.FLOAT}},
  baseline_previous {{.FLOAT}},
  baseline_observed_at {{.TS}},
  weight_index BIGINT,
  before_bid {{.FLOAT}},
  before_ask {{.FLOAT}},
  after_bid {{.FLOAT}},
  after_ask {{.FLOAT}},
  median_bid {{.FLOAT}},
  median_ask {{.FLOAT}},
  stake BIGINT,
  spread BIGINT,
  status TEXT NOT NULL,
  resolution_value {{.FLOAT}},
  resolution_outcome TEXT,
  resolution_source TEXT,
  resolution_note TEXT,
  resolved_at {{.TS}},
  brier {{.FLOAT}},
  edge BIGINT,
  log_edge {{.FLOAT}},
  rules_version TEXT,
  ruled BOOLEAN NOT NULL DEFAULT FALSE
);
--bun:split
INSERT INTO standings (id, agent_id, market_id, horizon_at, scheduled_close_at, sample, created_at, baseline_state, baseline, baseline_before, baseline_after, baseline_previous, baseline_observed_at, weight_index, status, resolution_value, resolution_outcome, resolution_source, resolution_note, resolved_at, brier, edge, log_edge, rules_version, ruled)
  SELECT id, agent_id, market_id, horizon_at, scheduled_close_at, sample, created_at, baseline_state, baseline, baseline_before, baseline_after, baseline_previous, baseline_observed_at, weight_index, status, resolution_value, resolution_outcome, resolution_source, resolution_note, resolved_at, brier, edge, log_edge, rules_version, ruled FROM forecasts;
--bun:split
CREATE INDEX standings_status ON standings (status, id);
--bun:split
CREATE INDEX standings_resolved ON standings (resolved_at, id) WHERE resolved_at IS NOT NULL;
--bun:split
CREATE INDEX standings_edge ON standings (edge, id) WHERE edge IS NOT NULL;
--bun:split
CREATE INDEX standings_pending ON standings (market_id, created_at) WHERE baseline_state = 'pending';
--bun:split
CREATE INDEX standings_open_market ON standings (market_id, id) WHERE status = 'open' AND market_id IS NOT NULL;
--bun:split
CREATE INDEX standings_due ON standings (horizon_at, id) WHERE status = 'open' AND market_id IS NULL;
--bun:split
CREATE INDEX standings_open ON standings (agent_id, scheduled_close_at) WHERE status = 'open';
--bun:split
ALTER TABLE forecasts DROP COLUMN baseline_state;
--bun:split
ALTER TABLE forecasts DROP COLUMN baseline;
--bun:split
ALTER TABLE forecasts DROP COLUMN baseline_before;
--bun:split
ALTER TABLE forecasts DROP COLUMN baseline_after;
--bun:split
ALTER TABLE forecasts DROP COLUMN baseline_previous;
--bun:split
ALTER TABLE forecasts DROP COLUMN baseline_observed_at;
--bun:split
ALTER TABLE forecasts DROP COLUMN weight_index;
--bun:split
ALTER TABLE forecasts DROP COLUMN status;
--bun:split
ALTER TABLE forecasts DROP COLUMN resolution_value;
--bun:split
ALTER TABLE forecasts DROP COLUMN resolution_outcome;
--bun:split
ALTER TABLE forecasts DROP COLUMN resolution_source;
--bun:split
ALTER TABLE forecasts DROP COLUMN resolution_note;
--bun:split
ALTER TABLE forecasts DROP COLUMN resolved_at;
--bun:split
ALTER TABLE forecasts DROP COLUMN brier;
--bun:split
ALTER TABLE forecasts DROP COLUMN edge;
--bun:split
ALTER TABLE forecasts DROP COLUMN log_edge;
--bun:split
ALTER TABLE forecasts DROP COLUMN rules_version;
--bun:split
ALTER TABLE forecasts DROP COLUMN ruled;
--bun:split
CREATE VIEW predictions AS
  SELECT f.id, f.agent_id, f.title, f.thesis, f.confidence, f.horizon_at, f.category, f.model, f.evidence, f.market_id, f.outcome, f.outcome_index, f.event_key, f.scheduled_close_at, f.hidden, f.sample, f.created_at,
    s.id AS standing_id, s.baseline_state, s.baseline, s.baseline_before, s.baseline_after, s.baseline_previous, s.baseline_observed_at, s.weight_index, s.before_bid, s.before_ask, s.after_bid, s.after_ask, s.median_bid, s.median_ask, s.stake, s.spread, s.status, s.resolution_value, s.resolution_outcome, s.resolution_source, s.resolution_note, s.resolved_at, s.brier, s.edge, s.log_edge, s.rules_version, s.ruled
  FROM forecasts AS f JOIN standings AS s ON s.id = f.id;
{{if .PG}}
--bun:split
ANALYZE standings;
{{end}}
