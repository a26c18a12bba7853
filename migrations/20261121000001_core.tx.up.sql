CREATE TABLE agents (
  id {{.UUID}} PRIMARY KEY,
  handle TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  model TEXT NOT NULL DEFAULT '',
  framework TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '',
  homepage TEXT NOT NULL DEFAULT '',
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  issuer TEXT,
  subject TEXT,
  owner TEXT,
  sample BOOLEAN NOT NULL,
  created_at {{.TS}} NOT NULL,
  disabled_at {{.TS}},
  last_seen_at {{.TS}}
);
--bun:split
CREATE UNIQUE INDEX agents_subject ON agents (issuer, subject) WHERE subject IS NOT NULL;
--bun:split
CREATE TABLE agent_keys (
  id TEXT PRIMARY KEY,
  agent_id {{.UUID}} NOT NULL REFERENCES agents (id),
  label TEXT NOT NULL,
  hash {{.BYTES}} NOT NULL,
  created_at {{.TS}} NOT NULL,
  last_used_at {{.TS}},
  revoked_at {{.TS}}
);
--bun:split
CREATE INDEX agent_keys_agent ON agent_keys (agent_id);
--bun:split
CREATE TABLE sessions (
  hash {{.BYTES}} PRIMARY KEY,
  agent_id {{.UUID}} NOT NULL REFERENCES agents (id),
  credential TEXT NOT NULL,
  created_at {{.TS}} NOT NULL,
  expires_at {{.TS}} NOT NULL
);
--bun:split
CREATE INDEX sessions_agent ON sessions (agent_id);
--bun:split
CREATE INDEX sessions_credential ON sessions (credential);
--bun:split
CREATE INDEX sessions_expiry ON sessions (expires_at);
--bun:split
CREATE TABLE credential_generation (
  id INTEGER PRIMARY KEY,
  generation BIGINT NOT NULL
);
--bun:split
INSERT INTO credential_generation (id, generation) VALUES (1, 1);
--bun:split
CREATE TABLE agent_usage (
  agent_id {{.UUID}} NOT NULL REFERENCES agents (id),
  hour {{.TS}} NOT NULL,
  requests BIGINT NOT NULL,
  errors BIGINT NOT NULL,
  limited BIGINT NOT NULL,
  PRIMARY KEY (agent_id, hour)
);
--bun:split
CREATE TABLE markets (
  id TEXT PRIMARY KEY,
  source TEXT NOT NULL,
  question TEXT NOT NULL,
  title TEXT NOT NULL,
  slug TEXT,
  category TEXT,
  outcomes {{.JSON}} NOT NULL,
  prices {{.JSON}},
  probability {{.FLOAT}},
  price {{.FLOAT}},
  volume {{.FLOAT}},
  liquidity {{.FLOAT}},
  best_bid {{.FLOAT}},
  best_ask {{.FLOAT}},
  volume_24h {{.FLOAT}},
  price_change_24h {{.FLOAT}},
  closes_at {{.TS}},
  closed_at {{.TS}},
  active BOOLEAN NOT NULL,
  closed BOOLEAN NOT NULL,
  url TEXT,
  image_url TEXT,
  description TEXT,
  resolution_source TEXT,
  event_id TEXT,
  event_title TEXT,
  condition_id TEXT,
  token_ids {{.JSON}},
  scalar BOOLEAN NOT NULL,
  resolution TEXT,
  match_key TEXT NOT NULL,
  first_seen_at {{.TS}} NOT NULL,
  observed_at {{.TS}} NOT NULL,
  sample BOOLEAN NOT NULL
);
--bun:split
CREATE INDEX markets_match_key ON markets (match_key);
--bun:split
CREATE INDEX markets_event ON markets (event_id) WHERE event_id IS NOT NULL;
--bun:split
CREATE INDEX markets_open_volume ON markets (closed, volume);
--bun:split
CREATE TABLE market_prices (
  market_id TEXT NOT NULL REFERENCES markets (id),
  observed_at {{.TS}} NOT NULL,
  prices {{.JSON}} NOT NULL,
  best_bid {{.FLOAT}},
  best_ask {{.FLOAT}},
  liquidity {{.FLOAT}},
  volume {{.FLOAT}},
  PRIMARY KEY (market_id, observed_at)
);
--bun:split
CREATE INDEX market_prices_age ON market_prices (observed_at);
--bun:split
CREATE TABLE news_items (
  id TEXT PRIMARY KEY,
  source TEXT NOT NULL,
  community TEXT NOT NULL,
  title TEXT NOT NULL,
  summary TEXT,
  score BIGINT NOT NULL,
  comments BIGINT NOT NULL,
  score_known BOOLEAN NOT NULL,
  url TEXT NOT NULL,
  permalink TEXT NOT NULL,
  author TEXT,
  posted_at {{.TS}} NOT NULL,
  self_post BOOLEAN NOT NULL,
  flair TEXT,
  thumbnail TEXT,
  position BIGINT NOT NULL,
  observed_at {{.TS}} NOT NULL,
  sample BOOLEAN NOT NULL
);
--bun:split
CREATE INDEX news_items_url ON news_items (url);
--bun:split
CREATE INDEX news_items_permalink ON news_items (permalink);
--bun:split
CREATE INDEX news_items_community ON news_items (community, posted_at);
--bun:split
CREATE TABLE predictions (
  id {{.UUID}} PRIMARY KEY,
  agent_id {{.UUID}} NOT NULL REFERENCES agents (id),
  title TEXT NOT NULL,
  thesis TEXT NOT NULL,
  confidence {{.FLOAT}} NOT NULL,
  horizon_at {{.TS}} NOT NULL,
  category TEXT NOT NULL,
  model TEXT NOT NULL,
  evidence {{.JSON}} NOT NULL,
  market_id TEXT REFERENCES markets (id),
  outcome TEXT,
  outcome_index BIGINT,
  event_key TEXT,
  scheduled_close_at {{.TS}},
  baseline_state TEXT NOT NULL,
  baseline {{.FLOAT}},
  baseline_before {{.FLOAT}},
  baseline_after {{.FLOAT}},
  baseline_previous {{.FLOAT}},
  baseline_observed_at {{.TS}},
  weight_index BIGINT,
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
  hidden BOOLEAN NOT NULL,
  sample BOOLEAN NOT NULL,
  created_at {{.TS}} NOT NULL
);
--bun:split
CREATE INDEX predictions_agent ON predictions (agent_id, id);
--bun:split
CREATE INDEX predictions_event ON predictions (agent_id, event_key, id) WHERE event_key IS NOT NULL;
--bun:split
CREATE INDEX predictions_market ON predictions (market_id, id) WHERE market_id IS NOT NULL;
--bun:split
CREATE INDEX predictions_category ON predictions (category, id);
--bun:split
CREATE INDEX predictions_status ON predictions (status, id);
--bun:split
CREATE INDEX predictions_resolved ON predictions (resolved_at, id) WHERE resolved_at IS NOT NULL;
--bun:split
CREATE INDEX predictions_edge ON predictions (edge, id) WHERE edge IS NOT NULL;
--bun:split
CREATE INDEX predictions_baseline ON predictions (market_id, created_at) WHERE baseline_state = 'pending';
--bun:split
{{if .PG}}
CREATE TABLE prediction_words (
  id UUID PRIMARY KEY,
  words TSVECTOR NOT NULL
);
--bun:split
CREATE INDEX prediction_words_words ON prediction_words USING gin (words);
{{else}}
CREATE VIRTUAL TABLE prediction_words USING fts5(id UNINDEXED, title, thesis);
{{end}}
--bun:split
CREATE TABLE agent_tallies (
  agent_id {{.UUID}} PRIMARY KEY REFERENCES agents (id),
  total BIGINT NOT NULL,
  open BIGINT NOT NULL,
  resolved BIGINT NOT NULL,
  void BIGINT NOT NULL,
  publication_days BIGINT NOT NULL,
  last_ranked_day TEXT,
  last_published_at {{.TS}}
);
--bun:split
CREATE TABLE idempotency_keys (
  agent_id {{.UUID}} NOT NULL REFERENCES agents (id),
  key TEXT NOT NULL,
  body_hash {{.BYTES}} NOT NULL,
  response {{.BYTES}},
  created_at {{.TS}} NOT NULL,
  PRIMARY KEY (agent_id, key)
);
--bun:split
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
--bun:split
CREATE TABLE assignments (
  id {{.UUID}} PRIMARY KEY,
  day TEXT,
  market_id TEXT REFERENCES markets (id),
  outcome TEXT,
  title TEXT NOT NULL,
  instructions TEXT NOT NULL,
  category TEXT NOT NULL,
  status TEXT NOT NULL,
  opens_at {{.TS}} NOT NULL,
  due_at {{.TS}} NOT NULL,
  sample BOOLEAN NOT NULL,
  created_at {{.TS}} NOT NULL
);
--bun:split
CREATE UNIQUE INDEX assignments_day ON assignments (day, market_id);
--bun:split
CREATE INDEX assignments_open ON assignments (status, due_at);
--bun:split
CREATE TABLE snapshots (
  feed TEXT PRIMARY KEY,
  taken_at {{.TS}} NOT NULL,
  content {{.BYTES}} NOT NULL
);
--bun:split
CREATE TABLE feed_states (
  feed TEXT PRIMARY KEY,
  source TEXT NOT NULL,
  count BIGINT NOT NULL,
  dropped {{.JSON}} NOT NULL,
  succeeded_at {{.TS}},
  last_error TEXT,
  failed_at {{.TS}},
  failures BIGINT NOT NULL,
  next_at {{.TS}}
);
--bun:split
CREATE TABLE leases (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  expires_at {{.TS}} NOT NULL
);
--bun:split
CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);
