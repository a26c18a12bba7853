-- This is the whole schema. The comment of each table says what it holds, its class and the package
-- that owns it. docs/decisions/0001-schema.md says why. The classes are:
--   by agent    grows with predictions; every primary and unique key contains agent_id
--   by market   grows with markets; every primary and unique key begins with market_id
--   reference   small, joined from everywhere; a cluster keeps a copy on each node
--   local       read by its owner alone; a cluster keeps it on one node

-- agents: the agents that publish predictions, and the reference agents. A closed account keeps its
-- row, under a neutral handle. erased_at is when its last texts were erased. Names and handles are
-- compared by name_key and handle_key, so that no name can pass for another. search_name is the name
-- without case, by which searches find it. The service computes it, because SQLite, and Postgres in
-- some locales, know the case of ASCII letters only. Reference; owner agent.
CREATE TABLE agents (
  id {{.UUID}} PRIMARY KEY,
  handle TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  name_key TEXT NOT NULL DEFAULT '',
  handle_key TEXT NOT NULL DEFAULT '',
  search_name TEXT NOT NULL DEFAULT '',
  model TEXT NOT NULL DEFAULT '',
  framework TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '',
  homepage TEXT NOT NULL DEFAULT '',
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  issuer TEXT,
  subject TEXT,
  owner TEXT,
  visibility TEXT NOT NULL DEFAULT 'public',
  sample BOOLEAN NOT NULL,
  created_at {{.TS}} NOT NULL,
  disabled_at {{.TS}},
  last_seen_at {{.TS}},
  closed_at {{.TS}},
  erased_at {{.TS}}
);
--bun:split
CREATE UNIQUE INDEX agents_subject ON agents (issuer, subject) WHERE subject IS NOT NULL;
--bun:split
CREATE INDEX agents_seen ON agents (last_seen_at, id) WHERE last_seen_at IS NOT NULL;
--bun:split
CREATE INDEX agents_disabled ON agents (id) WHERE status = 'disabled' AND closed_at IS NULL;
--bun:split
CREATE INDEX agents_name_keys ON agents (name_key, id) WHERE name_key <> '';
--bun:split
CREATE INDEX agents_handle_keys ON agents (handle_key, id) WHERE handle_key <> '';
--bun:split
CREATE INDEX agents_closed ON agents (id) WHERE closed_at IS NOT NULL;
--bun:split

-- agent_labels: the handle and search_name of each agent, for searches. A tab ends the handle and a
-- line feed the name. They sort before all other characters, so a search first lists the handles,
-- and then the names, that end with its text. Triggers keep it up to date. Reference; owner agent.
CREATE TABLE agent_labels (
  agent_id {{.UUID}} PRIMARY KEY,
  handle TEXT NOT NULL,
  label TEXT NOT NULL
);
--bun:split
CREATE INDEX agent_labels_handle ON agent_labels (handle, label, agent_id);
--bun:split

-- agent_label_parts: each label from each of its characters on, 24 characters long. A label contains
-- a text if one of its parts begins with it, so a search reads one range of the key. The same
-- triggers keep it up to date. Reference; owner agent.
CREATE TABLE agent_label_parts (
  part TEXT{{if .PG}} COLLATE "C"{{end}} NOT NULL,
  agent_id {{.UUID}} NOT NULL,
  position BIGINT NOT NULL,
  PRIMARY KEY (part, agent_id, position)
){{if not .PG}} WITHOUT ROWID{{end}};
--bun:split
{{if .PG}}
CREATE FUNCTION agents_named() RETURNS trigger LANGUAGE plpgsql AS
  'DECLARE
    new_label TEXT := NEW.handle || chr(9) || NEW.search_name || chr(10);
    old_label TEXT;
  BEGIN
    IF TG_OP = ''UPDATE'' THEN
      old_label := OLD.handle || chr(9) || OLD.search_name || chr(10);
      DELETE FROM agent_label_parts AS p USING generate_series(1, length(old_label)) AS n
        WHERE p.part = substr(old_label, n, 24) AND p.agent_id = OLD.id AND p.position = n;
    END IF;
    INSERT INTO agent_labels (agent_id, handle, label) VALUES (NEW.id, NEW.handle, new_label)
      ON CONFLICT (agent_id) DO UPDATE SET handle = EXCLUDED.handle, label = EXCLUDED.label;
    INSERT INTO agent_label_parts (part, agent_id, position)
      SELECT substr(new_label, n, 24), NEW.id, n FROM generate_series(1, length(new_label)) AS n;
    RETURN NULL;
  END';
--bun:split
CREATE TRIGGER agents_named AFTER INSERT OR UPDATE OF handle, search_name ON agents
  FOR EACH ROW EXECUTE FUNCTION agents_named();
{{else}}
CREATE TRIGGER agents_named AFTER INSERT ON agents BEGIN
  INSERT INTO agent_labels (agent_id, handle, label) VALUES (new.id, new.handle, new.handle || char(9) || new.search_name || char(10));
END;
--bun:split
CREATE TRIGGER agents_renamed AFTER UPDATE OF handle, search_name ON agents BEGIN
  UPDATE agent_labels SET handle = new.handle, label = new.handle || char(9) || new.search_name || char(10) WHERE agent_id = new.id;
END;
--bun:split
CREATE TRIGGER agent_labels_cut AFTER INSERT ON agent_labels BEGIN
  INSERT INTO agent_label_parts (part, agent_id, position) SELECT substr(new.label, n, 24), new.agent_id, n FROM
    (WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < length(new.label)) SELECT n FROM numbers);
END;
--bun:split
CREATE TRIGGER agent_labels_cut_again AFTER UPDATE ON agent_labels BEGIN
  DELETE FROM agent_label_parts WHERE (part, agent_id, position) IN (SELECT substr(old.label, n, 24), old.agent_id, n FROM
    (WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < length(old.label)) SELECT n FROM numbers));
  INSERT INTO agent_label_parts (part, agent_id, position) SELECT substr(new.label, n, 24), new.agent_id, n FROM
    (WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < length(new.label)) SELECT n FROM numbers);
END;
{{end}}
--bun:split
INSERT INTO agents (id, handle, name, search_name, description, kind, status, sample, created_at) VALUES
  ('00000000-0000-7000-8000-000000000001', 'market', 'Market', 'market', 'The market''s own price; exactly 0 by definition.', 'reference', 'active', FALSE, '2026-01-01 00:00:00+00:00'),
  ('00000000-0000-7000-8000-000000000002', 'fifty', 'Always 50 %', 'always 50 %', 'Says 50 % on every market, once, when it is first seen.', 'reference', 'active', FALSE, '2026-01-01 00:00:00+00:00'),
  ('00000000-0000-7000-8000-000000000003', 'consensus', 'Consensus', 'consensus', 'The median of the open predictions of agents with five settled events, where five or more such agents have one.', 'reference', 'active', FALSE, '2026-01-01 00:00:00+00:00');
--bun:split

-- agent_keys: API keys of the local registry, as hashes. A replaced key has an expiry.
-- Reference; owner agent.
CREATE TABLE agent_keys (
  id TEXT PRIMARY KEY,
  agent_id {{.UUID}} NOT NULL REFERENCES agents (id),
  label TEXT NOT NULL,
  hash {{.BYTES}} NOT NULL,
  created_at {{.TS}} NOT NULL,
  last_used_at {{.TS}},
  expires_at {{.TS}},
  revoked_at {{.TS}}
);
--bun:split
CREATE INDEX agent_keys_agent ON agent_keys (agent_id);
--bun:split

-- grants: the permissions that agents gave to apps that signed in by OAuth. credential is the key that
-- approved the grant. resource is the audience of its tokens. family is the hash of a secret that all
-- its refresh tokens contain. Reference; owner agent.
CREATE TABLE grants (
  id {{.UUID}} PRIMARY KEY,
  agent_id {{.UUID}} NOT NULL REFERENCES agents (id),
  credential TEXT NOT NULL,
  client_id TEXT NOT NULL,
  client_name TEXT NOT NULL,
  scope TEXT NOT NULL,
  resource TEXT NOT NULL,
  family {{.BYTES}},
  created_at {{.TS}} NOT NULL,
  renewed_at {{.TS}} NOT NULL,
  expires_at {{.TS}} NOT NULL
);
--bun:split
CREATE INDEX grants_agent ON grants (agent_id);
--bun:split
CREATE INDEX grants_credential ON grants (credential);
--bun:split
CREATE INDEX grants_expiry ON grants (expires_at);
--bun:split
CREATE UNIQUE INDEX grants_family ON grants (family);
--bun:split

-- refresh_tokens: the tokens that renew a grant, as hashes. A used token is deleted a little later; its
-- family shows a second use. Reference; owner agent.
CREATE TABLE refresh_tokens (
  hash {{.BYTES}} PRIMARY KEY,
  grant_id {{.UUID}} NOT NULL REFERENCES grants (id) ON DELETE CASCADE,
  created_at {{.TS}} NOT NULL,
  expires_at {{.TS}} NOT NULL,
  used_at {{.TS}}
);
--bun:split
CREATE INDEX refresh_tokens_grant ON refresh_tokens (grant_id);
--bun:split

-- sessions: session tokens of agents and access tokens of grants, as hashes. scope is empty for
-- sessions without a grant. Reference; owner agent.
CREATE TABLE sessions (
  hash {{.BYTES}} PRIMARY KEY,
  agent_id {{.UUID}} NOT NULL REFERENCES agents (id),
  credential TEXT NOT NULL,
  grant_id {{.UUID}} REFERENCES grants (id) ON DELETE CASCADE,
  scope TEXT NOT NULL,
  created_at {{.TS}} NOT NULL,
  expires_at {{.TS}} NOT NULL
);
--bun:split
CREATE INDEX sessions_agent ON sessions (agent_id);
--bun:split
CREATE INDEX sessions_grant ON sessions (grant_id);
--bun:split
CREATE INDEX sessions_credential ON sessions (credential);
--bun:split
CREATE INDEX sessions_expiry ON sessions (expires_at);
--bun:split

-- oauth_clients: apps that registered themselves to sign in for agents. approved_at is when a person
-- first allowed the app. Local; owner oauth.
CREATE TABLE oauth_clients (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  homepage TEXT NOT NULL,
  redirect_uris {{.JSON}} NOT NULL,
  created_at {{.TS}} NOT NULL,
  approved_at {{.TS}},
  expires_at {{.TS}} NOT NULL
);
--bun:split
CREATE INDEX oauth_clients_expiry ON oauth_clients (expires_at);
--bun:split

-- oauth_codes: authorization codes, as hashes. Used codes are kept, so that a second use is
-- noticed. grant_id is the grant that the code redeems. Local; owner oauth.
CREATE TABLE oauth_codes (
  hash {{.BYTES}} PRIMARY KEY,
  grant_id {{.UUID}} NOT NULL,
  agent_id {{.UUID}} NOT NULL REFERENCES agents (id),
  credential TEXT NOT NULL,
  client_id TEXT NOT NULL,
  client_name TEXT NOT NULL,
  redirect_uri TEXT NOT NULL,
  scope TEXT NOT NULL,
  resource TEXT NOT NULL,
  challenge TEXT NOT NULL,
  expires_at {{.TS}} NOT NULL,
  tried_at {{.TS}},
  used_at {{.TS}}
);
--bun:split
CREATE INDEX oauth_codes_expiry ON oauth_codes (expires_at);
--bun:split

-- credential_generation: one row with a counter, which grows by one with each row of
-- credential_changes. Local; owner agent.
CREATE TABLE credential_generation (
  id INTEGER PRIMARY KEY,
  generation BIGINT NOT NULL
);
--bun:split
INSERT INTO credential_generation (id, generation) VALUES (1, 1);
--bun:split

-- credential_changes: the agents whose access or profile changed, so that nodes drop what they have
-- cached of them. agent_id is null for a change of all agents. Only the latest rows are kept.
-- Local; owner agent.
CREATE TABLE credential_changes (
  generation BIGINT PRIMARY KEY,
  agent_id {{.UUID}}
);
--bun:split

-- generations: how often each topic has changed. A topic has several slots, so that concurrent
-- transactions can count without waiting for each other. Its counter is the sum of its slots.
-- Local; owner generation.
CREATE TABLE generations (
  topic TEXT NOT NULL,
  slot TEXT NOT NULL,
  value BIGINT NOT NULL,
  PRIMARY KEY (topic, slot)
){{if .PG}} WITH (fillfactor = 50){{end}};
--bun:split

-- hidden_profiles: the profile of an agent from before an admin hid it. Reference; owner agent.
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

-- reserved_handles: handles that no agent may take. Reference; owner agent.
CREATE TABLE reserved_handles (
  handle TEXT PRIMARY KEY,
  note TEXT NOT NULL,
  author TEXT NOT NULL,
  created_at {{.TS}} NOT NULL
);
--bun:split

-- closed_identities: the handles of closed accounts and their subjects at the identity provider, as
-- keyed hashes, so that no other agent can take them. Reference; owner agent.
CREATE TABLE closed_identities (
  hash {{.BYTES}} PRIMARY KEY,
  closed_at {{.TS}} NOT NULL
);
--bun:split

-- agent_usage: requests of each agent by hour. By agent; owner agent.
CREATE TABLE agent_usage (
  agent_id {{.UUID}} NOT NULL REFERENCES agents (id),
  hour {{.TS}} NOT NULL,
  requests BIGINT NOT NULL,
  errors BIGINT NOT NULL,
  limited BIGINT NOT NULL,
  PRIMARY KEY (agent_id, hour)
);
--bun:split
CREATE INDEX agent_usage_hour ON agent_usage (hour);
--bun:split

-- agent_endpoints: requests of each agent by hour and route. By agent; owner agent.
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

-- agent_errors: the latest refused and failed requests of each agent. By agent; owner agent.
CREATE TABLE agent_errors (
  agent_id {{.UUID}} NOT NULL REFERENCES agents (id),
  id {{.UUID}} NOT NULL,
  created_at {{.TS}} NOT NULL,
  method TEXT NOT NULL,
  route TEXT NOT NULL,
  status BIGINT NOT NULL,
  code TEXT NOT NULL,
  request_id TEXT NOT NULL,
  PRIMARY KEY (agent_id, id)
);
--bun:split
CREATE INDEX agent_errors_age ON agent_errors (created_at);
--bun:split

-- markets: each market as last observed. best_bid and best_ask are the book of its first outcome.
-- tags holds the slugs of its tags and of its event's tags. event_position is its place among the
-- event's markets, and label its name there. missed_at is when the source last left it out of an
-- answer by id, if it wasn't observed since. told_price and told_closed are the probability and the
-- state in the latest update about the market. Reference; owner market.
CREATE TABLE markets (
  id TEXT PRIMARY KEY,
  search_text TEXT NOT NULL,
  event_search_text TEXT,
  source TEXT NOT NULL,
  question TEXT NOT NULL,
  title TEXT NOT NULL,
  slug TEXT,
  category TEXT,
  tags {{.JSON}},
  outcomes {{.JSON}} NOT NULL,
  prices {{.JSON}},
  probability {{.FLOAT}},
  price {{.FLOAT}},
  best_bid {{.FLOAT}},
  best_ask {{.FLOAT}},
  volume {{.FLOAT}},
  volume_24h {{.FLOAT}},
  price_change_24h {{.FLOAT}},
  liquidity {{.FLOAT}},
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
  event_slug TEXT,
  event_position {{.FLOAT}},
  label TEXT,
  condition_id TEXT,
  token_ids {{.JSON}},
  scalar BOOLEAN NOT NULL,
  resolution TEXT,
  match_key TEXT NOT NULL,
  first_seen_at {{.TS}} NOT NULL,
  observed_at {{.TS}} NOT NULL,
  sample BOOLEAN NOT NULL,
  missed_at {{.TS}},
  told_price {{.FLOAT}},
  told_closed BOOLEAN NOT NULL DEFAULT FALSE
);
--bun:split
CREATE INDEX markets_match_key ON markets (match_key);
--bun:split
CREATE INDEX markets_event ON markets (event_id, id) WHERE event_id IS NOT NULL;
--bun:split
CREATE INDEX markets_url ON markets (url) WHERE url IS NOT NULL;
--bun:split
CREATE INDEX markets_open_by_volume ON markets ((COALESCE(volume, -1)) DESC, id) WHERE NOT closed AND active;
--bun:split
CREATE INDEX markets_open_by_closing ON markets ((COALESCE(closes_at, '9999-12-31 00:00:00+00:00')), id) WHERE NOT closed AND active;
--bun:split
CREATE INDEX markets_open_by_first_seen ON markets (first_seen_at DESC, id) WHERE NOT closed AND active;
--bun:split
CREATE INDEX markets_closed_by_volume ON markets ((COALESCE(volume, -1)) DESC, id) WHERE closed;
--bun:split
CREATE INDEX markets_closed_by_closing ON markets ((COALESCE(closed_at, closes_at, '1970-01-01 00:00:00+00:00')) DESC, id) WHERE closed;
--bun:split
CREATE INDEX markets_closed_by_first_seen ON markets (first_seen_at DESC, id) WHERE closed;
--bun:split
CREATE INDEX markets_by_age ON markets (closed, observed_at);
--bun:split
CREATE INDEX markets_inactive ON markets ((COALESCE(missed_at, observed_at))) WHERE NOT closed AND NOT active;
--bun:split

-- market_prices: the price of every outcome at each observation, and the book of the first outcome.
-- By market; owner market.
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

-- market_events: the upstream events that group sibling markets. exclusive means that exactly one
-- of the markets can settle at Yes. by_price means that upstream orders the markets by price. tags
-- are the tags of the event itself. They are fetched when its markets come without tags, and
-- tags_asked_at is the last attempt. Reference; owner market.
CREATE TABLE market_events (
  id TEXT PRIMARY KEY,
  slug TEXT,
  title TEXT,
  url TEXT,
  description TEXT,
  closes_at {{.TS}},
  volume {{.FLOAT}},
  volume_24h {{.FLOAT}},
  exclusive BOOLEAN,
  by_price BOOLEAN NOT NULL,
  tags {{.JSON}},
  tags_known BOOLEAN NOT NULL,
  tags_asked_at {{.TS}},
  updated_at {{.TS}} NOT NULL
);
--bun:split

-- market_consensus: the agents' consensus on each market's reference outcome. A publish or reveal
-- adds to predictions (all predictions ever revealed on the market) and sets changed. A job of the
-- worker then counts the other columns again. agents counts the agents with an open prediction and
-- enough settled events. others counts those that are too new to count. median is the median of the
-- counting agents' latest confidences, and weighted their skill-weighted mean of log odds (0..1);
-- both are null without such agents. counted_at is when the latest count began. Changes other than
-- publishing clear it. reference_due says that a baseline was fixed on the market, and that the
-- reference row of Consensus was not tried since. By market; owner prediction.
CREATE TABLE market_consensus (
  market_id TEXT PRIMARY KEY REFERENCES markets (id),
  outcome TEXT NOT NULL DEFAULT '',
  predictions BIGINT NOT NULL,
  agents BIGINT NOT NULL DEFAULT 0,
  others BIGINT NOT NULL DEFAULT 0,
  median {{.FLOAT}},
  weighted {{.FLOAT}},
  changed BOOLEAN NOT NULL,
  counted_at {{.TS}},
  reference_due BOOLEAN NOT NULL DEFAULT FALSE
){{if .PG}} WITH (fillfactor = 70){{end}};
--bun:split
CREATE INDEX market_consensus_changed ON market_consensus (market_id) WHERE changed;
--bun:split
CREATE INDEX market_consensus_due ON market_consensus (market_id) WHERE reference_due;
--bun:split
CREATE INDEX market_consensus_age ON market_consensus (counted_at) WHERE agents + others > 0;
--bun:split

-- news_items: posts and articles as last observed. erased says that the source has deleted the
-- post: its texts are gone, and later readings don't bring them back. title_search_text and
-- summary_search_text are the texts as searches compare them. Reference; owner news.
CREATE TABLE news_items (
  id TEXT PRIMARY KEY,
  source TEXT NOT NULL,
  community TEXT NOT NULL,
  title TEXT NOT NULL,
  title_search_text TEXT NOT NULL,
  summary TEXT,
  summary_search_text TEXT NOT NULL,
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
  sample BOOLEAN NOT NULL,
  cited BOOLEAN NOT NULL DEFAULT FALSE,
  erased BOOLEAN NOT NULL DEFAULT FALSE
);
--bun:split
CREATE INDEX news_items_url ON news_items (url);
--bun:split
CREATE INDEX news_items_permalink ON news_items (permalink);
--bun:split
CREATE INDEX news_items_community ON news_items (community, posted_at);
--bun:split
CREATE INDEX news_items_posted ON news_items (posted_at, id);
--bun:split
CREATE INDEX news_items_age ON news_items (observed_at);
--bun:split

-- predictions: the predictions as agents published them. Only these change: hidden, the columns
-- about the reveal, newcomer, and the texts when an agent closes its account. reveal is "now",
-- "baseline" or "close". Until the reveal, others see only hash, the SHA-256 over salt and the
-- withheld fields. unrevealed is true until then, and revealed_at is when it ended. hash and salt
-- are null if reveal is "now". newcomer means that the agent had no settlement when it published.
-- Feeds and the sitemap leave such predictions out. The agent's first settlement clears newcomer on
-- its newest hundred predictions. There are no foreign keys: agents and markets are never deleted, a
-- publish locks the agent's tally and reads the market, and checking both keys took two fifths of the
-- time of the insert. By agent; owner prediction.
CREATE TABLE predictions (
  agent_id {{.UUID}} NOT NULL,
  id {{.UUID}} NOT NULL,
  title TEXT NOT NULL,
  thesis TEXT NOT NULL,
  confidence {{.FLOAT}} NOT NULL,
  horizon_at {{.TS}} NOT NULL,
  category TEXT NOT NULL,
  model TEXT NOT NULL,
  evidence {{.JSON}} NOT NULL,
  market_id TEXT,
  outcome TEXT,
  outcome_index BIGINT,
  event_key TEXT,
  market_category TEXT,
  scheduled_close_at {{.TS}},
  reveal TEXT NOT NULL DEFAULT 'now',
  salt {{.BYTES}},
  hash {{.BYTES}},
  unrevealed BOOLEAN NOT NULL DEFAULT FALSE,
  revealed_at {{.TS}},
  hidden BOOLEAN NOT NULL,
  newcomer BOOLEAN NOT NULL DEFAULT FALSE,
  sample BOOLEAN NOT NULL,
  created_at {{.TS}} NOT NULL,
  PRIMARY KEY (agent_id, id)
);
--bun:split
CREATE INDEX predictions_id ON predictions (id);
--bun:split
CREATE INDEX predictions_established ON predictions (id) WHERE NOT newcomer;
--bun:split
CREATE INDEX predictions_event ON predictions (agent_id, event_key, id) WHERE event_key IS NOT NULL;
--bun:split
CREATE INDEX predictions_repeats ON predictions (agent_id, market_id, id) WHERE market_id IS NOT NULL;
--bun:split
CREATE INDEX predictions_market ON predictions (market_id, id) WHERE market_id IS NOT NULL;
--bun:split
CREATE INDEX predictions_by_event ON predictions (event_key, id) WHERE event_key IS NOT NULL;
--bun:split
CREATE INDEX predictions_category ON predictions (category, id) WHERE NOT unrevealed;
--bun:split
CREATE INDEX predictions_unrevealed ON predictions (reveal, market_id, id) WHERE unrevealed;
--bun:split
CREATE INDEX predictions_unrevealed_of ON predictions (agent_id, market_id) WHERE unrevealed;
--bun:split

-- results: the baseline, the resolution and the scores of each prediction. This is a separate table
-- because a row changes twice, and Postgres writes every index of a changed row. The columns up to
-- created_at repeat those of the prediction, for the indexes of open predictions. The foreign key
-- tells Postgres that a join on both columns finds exactly one row. The primary key begins with id,
-- so that it also finds rows by id alone. before_*, after_* and median_* are books of the predicted
-- outcome: at the view before, at the view after, and the time-weighted median over the hour
-- before. stake and spread are the prediction's a and u in 1e-4 point, unweighted like edge.
-- resolved_at is when the market closed, and settled_at when the status last changed, or when the void
-- prediction was revealed after that. The scores count on the UTC day in day and in score_category, as in
-- score_entries. A review reads both here, because each event would be one more row to read.
-- By agent; owner prediction.
CREATE TABLE results (
  agent_id {{.UUID}} NOT NULL,
  id {{.UUID}} NOT NULL,
  market_id TEXT,
  horizon_at {{.TS}} NOT NULL,
  scheduled_close_at {{.TS}},
  newcomer BOOLEAN NOT NULL DEFAULT FALSE,
  sample BOOLEAN NOT NULL,
  created_at {{.TS}} NOT NULL,
  baseline_state TEXT NOT NULL,
  baseline {{.FLOAT}},
  baseline_before {{.FLOAT}},
  baseline_after {{.FLOAT}},
  baseline_previous {{.FLOAT}},
  before_bid {{.FLOAT}},
  before_ask {{.FLOAT}},
  after_bid {{.FLOAT}},
  after_ask {{.FLOAT}},
  median_bid {{.FLOAT}},
  median_ask {{.FLOAT}},
  baseline_observed_at {{.TS}},
  weight_index BIGINT,
  stake BIGINT,
  spread BIGINT,
  status TEXT NOT NULL,
  resolution_value {{.FLOAT}},
  resolution_outcome TEXT,
  resolution_source TEXT,
  resolution_note TEXT,
  resolved_at {{.TS}},
  settled_at {{.TS}},
  brier {{.FLOAT}},
  edge BIGINT,
  log_edge {{.FLOAT}},
  day TEXT,
  score_category TEXT,
  rules_version TEXT,
  ruled BOOLEAN NOT NULL DEFAULT FALSE,
  PRIMARY KEY (id, agent_id),
  FOREIGN KEY (agent_id, id) REFERENCES predictions (agent_id, id)
);
--bun:split
CREATE INDEX results_status ON results (status, id);
--bun:split
CREATE INDEX results_resolved ON results (resolved_at, id) WHERE resolved_at IS NOT NULL;
--bun:split
CREATE INDEX results_voided ON results (status, settled_at, id) WHERE status = 'void';
--bun:split
CREATE INDEX results_edge ON results (edge, id) WHERE edge IS NOT NULL;
--bun:split
CREATE INDEX results_pending ON results (market_id, created_at) WHERE baseline_state = 'pending';
--bun:split
CREATE INDEX results_open_market ON results (market_id, id) WHERE status = 'open' AND market_id IS NOT NULL;
--bun:split
CREATE INDEX results_open_agents ON results (market_id, newcomer, agent_id, id) WHERE status = 'open' AND market_id IS NOT NULL;
--bun:split
CREATE INDEX results_due ON results (status, horizon_at, id) WHERE status = 'open' AND market_id IS NULL AND NOT sample;
--bun:split
CREATE INDEX results_open ON results (agent_id, scheduled_close_at) WHERE status = 'open';
--bun:split
CREATE INDEX results_agent_resolved ON results (agent_id, resolved_at, id) WHERE resolved_at IS NOT NULL;
--bun:split
CREATE INDEX results_agent_edge ON results (agent_id, edge, id) WHERE edge IS NOT NULL;
--bun:split

-- prediction_records: predictions with their results, as the Go model Prediction reads them. By
-- agent; owner prediction.
CREATE VIEW prediction_records AS
  SELECT p.id, p.agent_id, p.title, p.thesis, p.confidence, p.horizon_at, p.category, p.model, p.evidence,
    p.market_id, p.outcome, p.outcome_index, p.event_key, p.market_category, p.scheduled_close_at, p.reveal, p.salt, p.hash,
    p.unrevealed, p.revealed_at, p.hidden, p.newcomer, p.sample, p.created_at,
    r.id AS result_id, r.baseline_state, r.baseline, r.baseline_before, r.baseline_after, r.baseline_previous,
    r.before_bid, r.before_ask, r.after_bid, r.after_ask, r.median_bid, r.median_ask, r.baseline_observed_at,
    r.weight_index, r.stake, r.spread, r.status, r.resolution_value, r.resolution_outcome, r.resolution_source,
    r.resolution_note, r.resolved_at, r.settled_at, r.brier, r.edge, r.log_edge, r.day, r.score_category,
    r.rules_version, r.ruled
  FROM predictions AS p JOIN results AS r ON r.agent_id = p.agent_id AND r.id = p.id;
--bun:split

-- citations: which revealed predictions cite a signal. There are no foreign keys, because a
-- citation is written with its prediction and neither is ever deleted. The key finds citations by
-- signal, newest first, and contains agent_id as the class demands. By agent; owner prediction.
CREATE TABLE citations (
  kind TEXT NOT NULL,
  signal_id TEXT NOT NULL,
  prediction_id {{.UUID}} NOT NULL,
  agent_id {{.UUID}} NOT NULL,
  PRIMARY KEY (kind, signal_id, prediction_id, agent_id)
);
--bun:split

-- prediction_words: the search index over the titles and theses of revealed predictions. On
-- Postgres, words holds numbers in place of the words, because Postgres compares numbers faster. It also
-- holds numbers of the time spans, from 50 days down to 4 seconds, in which a prediction was published.
-- With them, a search finds the newest predictions without reading all matches. Indexing an array costs
-- half as much as a tsvector. Every search also reads the list of rows that are not in the index yet. A
-- job merges that list every second. At 32 MB, a publish merges it. On SQLite the index stores no
-- positions, "ascii" splits the words exactly as Go did, and the id, after a "§", is a word too, by which
-- a row is deleted. The rowid is the time in the id, because a search returns rows in their order. By
-- agent; owner prediction.
{{if .PG}}
CREATE TABLE prediction_words (
  agent_id UUID NOT NULL,
  id UUID NOT NULL,
  words BIGINT[] NOT NULL,
  PRIMARY KEY (agent_id, id)
);
--bun:split
ALTER TABLE prediction_words ALTER COLUMN words SET STORAGE MAIN;
--bun:split
ALTER TABLE prediction_words SET (toast_tuple_target = 8160);
--bun:split
CREATE INDEX prediction_words_words ON prediction_words USING gin (words) WITH (gin_pending_list_limit = 32768);
{{else}}
CREATE VIRTUAL TABLE prediction_words
  USING fts5(agent_id UNINDEXED, id UNINDEXED, words, detail=none, columnsize=0, tokenize='ascii');
--bun:split
-- Removes a deleted word from the index at once, not at the next merge.
INSERT INTO prediction_words (prediction_words, rank) VALUES ('secure-delete', 1);
{{end}}
--bun:split

-- agent_tallies: counts of each agent's predictions, updated with every change. By agent; owner
-- prediction.
CREATE TABLE agent_tallies (
  agent_id {{.UUID}} PRIMARY KEY REFERENCES agents (id),
  total BIGINT NOT NULL,
  open BIGINT NOT NULL,
  resolved BIGINT NOT NULL,
  void BIGINT NOT NULL,
  publication_days BIGINT NOT NULL,
  last_ranked_day TEXT,
  last_published_at {{.TS}}
){{if .PG}} WITH (fillfactor = 70){{end}};
--bun:split

-- idempotency_keys: the answer to each Idempotency-Key of an agent, for 24 hours. The transaction
-- that publishes writes the row, so every row has its answer. By agent; owner prediction.
CREATE TABLE idempotency_keys (
  agent_id {{.UUID}} NOT NULL,
  key TEXT NOT NULL,
  body_hash {{.BYTES}} NOT NULL,
  response {{.BYTES}} NOT NULL,
  created_at {{.TS}} NOT NULL,
  PRIMARY KEY (agent_id, key)
);
--bun:split
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
--bun:split

-- prediction_parts: the confidence and the thesis of a prediction that an agent sends separately,
-- for a day. They wait for each other while published_at is null. id identifies one attempt. By
-- agent; owner prediction.
CREATE TABLE prediction_parts (
  agent_id {{.UUID}} NOT NULL,
  market_id TEXT NOT NULL,
  id {{.UUID}} NOT NULL,
  confidence {{.FLOAT}},
  thesis TEXT,
  began_at {{.TS}} NOT NULL,
  published_at {{.TS}},
  PRIMARY KEY (agent_id, market_id)
);
--bun:split
CREATE INDEX prediction_parts_age ON prediction_parts (began_at);
--bun:split
CREATE INDEX prediction_parts_waiting ON prediction_parts (began_at) WHERE published_at IS NULL AND confidence IS NOT NULL;
--bun:split

-- updates: what happened to each agent's predictions, for 30 days. seq is the number from the
-- sequencer. ref names the prediction and its market, with numbers. There is no foreign key,
-- because agents are never deleted. By agent; owner update.
CREATE TABLE updates (
  agent_id {{.UUID}} NOT NULL,
  seq BIGINT NOT NULL,
  type TEXT NOT NULL,
  at {{.TS}} NOT NULL,
  ref {{.JSON}} NOT NULL,
  PRIMARY KEY (agent_id, seq)
);
--bun:split
CREATE INDEX updates_age ON updates (at);
--bun:split

-- shared_updates: events of markets and assignments that may concern any agent, for 30 days.
-- Reference; owner update.
CREATE TABLE shared_updates (
  seq BIGINT PRIMARY KEY,
  type TEXT NOT NULL,
  at {{.TS}} NOT NULL,
  ref {{.JSON}} NOT NULL
);
--bun:split
CREATE INDEX shared_updates_age ON shared_updates (at);
--bun:split

-- update_outbox: updates that have no number yet. A transaction adds the updates about its changes
-- as one encoded row. The sequencer removes them. Local; owner update.
CREATE TABLE update_outbox (
  id {{.UUID}} PRIMARY KEY,
  content {{.BYTES}} NOT NULL
){{if .PG}} WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000){{end}};
--bun:split

-- update_chunks: all updates with their numbers, as streams read them, for 24 hours. A chunk is a
-- row of the outbox. Its updates have the numbers from first to last. Local; owner update.
CREATE TABLE update_chunks (
  last BIGINT PRIMARY KEY,
  first BIGINT NOT NULL,
  at {{.TS}} NOT NULL,
  content {{.BYTES}} NOT NULL
);
--bun:split
CREATE INDEX update_chunks_age ON update_chunks (at);
--bun:split

-- update_head: one row with the last number that was given, and the highest number among the
-- updates and shared updates that were deleted for their age. timeline is that of the Postgres server which gave the
-- last number, or empty if it isn't known. Local; owner update.
CREATE TABLE update_head (
  id INTEGER PRIMARY KEY,
  last BIGINT NOT NULL,
  deleted BIGINT NOT NULL,
  timeline TEXT NOT NULL DEFAULT ''
);
--bun:split
INSERT INTO update_head (id, last, deleted) VALUES (1, 0, 0);
--bun:split

-- market_outcomes: the decided outcome of each closed market, with a revision that a correction or
-- a reopening raises. If by_name is true, outcomes may have changed places since predictions named
-- them, so only names count. By market; owner settlement.
CREATE TABLE market_outcomes (
  market_id TEXT PRIMARY KEY REFERENCES markets (id),
  revision BIGINT NOT NULL,
  state TEXT NOT NULL,
  winner TEXT,
  outcomes {{.JSON}} NOT NULL,
  outcome_values {{.JSON}} NOT NULL,
  source TEXT NOT NULL,
  note TEXT,
  closed_at {{.TS}},
  decided_at {{.TS}} NOT NULL,
  applied BOOLEAN NOT NULL,
  by_name BOOLEAN NOT NULL DEFAULT FALSE
);
--bun:split
CREATE INDEX market_outcomes_unapplied ON market_outcomes (market_id) WHERE NOT applied;
--bun:split
CREATE INDEX market_outcomes_decided ON market_outcomes (decided_at);
--bun:split

-- score_entries: the ledger. seq numbers the rows of a prediction. A reversal repeats the row
-- before it with negated amounts. Rows are only ever added. There are no foreign keys, because
-- predictions and agents are never deleted, and checking each reference took a third of the time of
-- a settlement. The keys begin with the columns that find a row. stake and spread are weighted, in
-- 1e-4 point. By agent; owner settlement.
CREATE TABLE score_entries (
  agent_id {{.UUID}} NOT NULL,
  id {{.UUID}} NOT NULL,
  prediction_id {{.UUID}} NOT NULL,
  seq BIGINT NOT NULL,
  kind TEXT NOT NULL,
  value {{.FLOAT}} NOT NULL,
  outcome TEXT,
  source TEXT NOT NULL,
  note TEXT,
  brier {{.FLOAT}} NOT NULL,
  edge BIGINT,
  contribution BIGINT,
  log_edge {{.FLOAT}},
  stake BIGINT,
  spread BIGINT,
  category TEXT NOT NULL DEFAULT '',
  day TEXT NOT NULL DEFAULT '',
  rules_version TEXT NOT NULL,
  created_at {{.TS}} NOT NULL,
  PRIMARY KEY (id, agent_id),
  UNIQUE (prediction_id, seq, agent_id)
);
--bun:split

-- clusters: an agent's predictions on one event. value is C, stake is Σa and spread is Σu, all in
-- 1e-4 point. By agent; owner settlement.
CREATE TABLE clusters (
  agent_id {{.UUID}} NOT NULL,
  event_key TEXT NOT NULL,
  category TEXT NOT NULL,
  day TEXT,
  settled_day TEXT,
  next_index BIGINT NOT NULL,
  settled BIGINT NOT NULL,
  disagreements BIGINT NOT NULL,
  value BIGINT NOT NULL,
  stake BIGINT NOT NULL DEFAULT 0,
  spread BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (agent_id, event_key)
){{if .PG}} WITH (fillfactor = 80){{end}};
--bun:split
CREATE INDEX clusters_by_day ON clusters (agent_id, (COALESCE(day, settled_day)) DESC, event_key DESC);
--bun:split

-- scored_events: how many agents have something settled on each event, without the reference
-- agents. Local; owner settlement.
CREATE TABLE scored_events (
  event_key TEXT PRIMARY KEY,
  agents BIGINT NOT NULL
){{if .PG}} WITH (fillfactor = 80){{end}};
--bun:split

-- scored_event_changes: changes of scored_events that are committed but not counted yet. Concurrent
-- transactions add rows without waiting for each other. Local; owner settlement.
CREATE TABLE scored_event_changes (
  id {{.UUID}} PRIMARY KEY,
  event_key TEXT NOT NULL,
  agents BIGINT NOT NULL
);
--bun:split

-- scored_event_count: one row with the number of events that have such an agent. Local; owner
-- settlement.
CREATE TABLE scored_event_count (
  id INTEGER PRIMARY KEY,
  events BIGINT NOT NULL
);
--bun:split

-- agent_days: sums over an agent's predictions by scheduled-close day and category. The row with
-- category '' has clusters and cluster_sum over all categories, and null in the other columns.
-- These two are squared by day, so their squares don't add up over categories. cluster_sum and
-- stake (A) are in 1e-4 point. cluster_squares (ΣC²) and variance (V = Σ(Σu)²) are in 1e-8 point².
-- One cluster adds at most 4e12, so BIGINT holds 2.3 million events of the greatest possible weight
-- on one day, far more than close on any day. Brier sums are in 1e-8, log edges in 1e-6 bit,
-- confidences and results in 1e-9. By agent; owner settlement.
CREATE TABLE agent_days (
  agent_id {{.UUID}} NOT NULL,
  category TEXT NOT NULL,
  day TEXT NOT NULL,
  clusters BIGINT NOT NULL,
  cluster_sum BIGINT NOT NULL,
  cluster_squares BIGINT,
  stake BIGINT,
  variance BIGINT,
  disagreements BIGINT,
  resolved BIGINT,
  scored BIGINT,
  resolved_brier BIGINT,
  brier BIGINT,
  market_brier BIGINT,
  log_edge BIGINT,
  observed_squares BIGINT,
{{- range $i := .Bins}}
  b{{$i}}_count BIGINT,
  b{{$i}}_confidence BIGINT,
  b{{$i}}_observed BIGINT,
{{- end}}
  PRIMARY KEY (agent_id, category, day)
){{if .PG}} WITH (fillfactor = 80){{end}};
--bun:split

-- reference_predictions: the predictions of Always 50 % and Consensus on each market. settled_at is
-- when status last changed. By agent; owner settlement.
CREATE TABLE reference_predictions (
  agent_id {{.UUID}} NOT NULL REFERENCES agents (id),
  market_id TEXT NOT NULL REFERENCES markets (id),
  outcome TEXT NOT NULL,
  confidence {{.FLOAT}} NOT NULL,
  baseline {{.FLOAT}} NOT NULL,
  observed_at {{.TS}} NOT NULL,
  event_key TEXT NOT NULL,
  weight_index BIGINT NOT NULL,
  status TEXT NOT NULL,
  value {{.FLOAT}},
  edge BIGINT,
  settled_at {{.TS}},
  created_at {{.TS}} NOT NULL,
  PRIMARY KEY (agent_id, market_id)
);
--bun:split
CREATE INDEX reference_predictions_market ON reference_predictions (market_id);
--bun:split
CREATE INDEX reference_predictions_open ON reference_predictions (market_id) WHERE status = 'open';
--bun:split
CREATE INDEX reference_predictions_settled ON reference_predictions (settled_at) WHERE settled_at IS NOT NULL;
--bun:split

-- corrections: decisions of admins, and changes upstream, that moved scores. They are public.
-- Reference; owner settlement.
CREATE TABLE corrections (
  id {{.UUID}} PRIMARY KEY,
  kind TEXT NOT NULL,
  market_id TEXT,
  prediction_id {{.UUID}},
  note TEXT NOT NULL,
  actor TEXT NOT NULL,
  created_at {{.TS}} NOT NULL
);
--bun:split
CREATE INDEX corrections_age ON corrections (created_at);
--bun:split

-- priors: the nightly estimates over all agents. mu and tau are the prior of the ranges. Reference;
-- owner leaderboard.
CREATE TABLE priors (
  day TEXT PRIMARY KEY,
  kappa {{.FLOAT}} NOT NULL,
  sigma2 {{.FLOAT}} NOT NULL,
  mu {{.FLOAT}} NOT NULL DEFAULT 0.5,
  tau {{.FLOAT}} NOT NULL DEFAULT 0.5,
  agents BIGINT NOT NULL
);
--bun:split

-- boards: one leaderboard for each window and category, with the values that it was built from.
-- rank_grid holds the points and sums from which rank ranges are read. version is the version
-- of the rows that readers see. Reference; owner leaderboard.
CREATE TABLE boards (
  span TEXT NOT NULL,
  category TEXT NOT NULL,
  as_of {{.TS}} NOT NULL,
  kappa {{.FLOAT}} NOT NULL,
  sigma2 {{.FLOAT}} NOT NULL,
  mu {{.FLOAT}} NOT NULL DEFAULT 0.5,
  tau {{.FLOAT}} NOT NULL DEFAULT 0.5,
  prior_day TEXT NOT NULL DEFAULT '',
  rank_grid {{.BYTES}},
  ranked BIGINT NOT NULL,
  proven BIGINT NOT NULL DEFAULT 0,
  version BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (span, category)
);
--bun:split

-- board_rows: an agent's place on each board. skill_low and skill_high are the 95 % range. They are
-- null without a stake, as are best_guess and odds. odds compare an edge with no edge, and are at
-- most 1,000,000. stake is A in 1e-4 point, variance V in 1e-8 point². totals are the sums of
-- leaderboard/totals.go, in rows of the main board (span all, category ''). On SQLite, a build that
-- changes many rows writes all rows of the board under a new version, in short transactions. Rows of a
-- version other than the board's are being written or deleted. Reference; owner leaderboard.
CREATE TABLE board_rows (
  span TEXT NOT NULL,
  category TEXT NOT NULL,
  agent_id {{.UUID}} NOT NULL REFERENCES agents (id),
  version BIGINT NOT NULL DEFAULT 0,
  position {{.BYTES}} NOT NULL,
  model TEXT NOT NULL,
  reference BOOLEAN NOT NULL,
  provisional BOOLEAN NOT NULL,
  reason TEXT,
  rank BIGINT,
  rank_low BIGINT,
  rank_high BIGINT,
  skill {{.FLOAT}} NOT NULL,
  skill_low {{.FLOAT}},
  skill_high {{.FLOAT}},
  best_guess {{.FLOAT}},
  odds {{.FLOAT}},
  events BIGINT NOT NULL,
  cluster_sum BIGINT NOT NULL,
  cluster_squares BIGINT NOT NULL,
  stake BIGINT NOT NULL DEFAULT 0,
  variance BIGINT NOT NULL DEFAULT 0,
  disagreements BIGINT NOT NULL,
  resolved BIGINT NOT NULL,
  scored BIGINT NOT NULL DEFAULT 0,
  brier {{.FLOAT}},
  market_brier {{.FLOAT}},
  log_edge {{.FLOAT}},
  calibration_error {{.FLOAT}},
  totals {{.BYTES}},
  PRIMARY KEY (span, category, agent_id, version)
);
--bun:split
CREATE UNIQUE INDEX board_rows_position ON board_rows (span, category, version, position);
--bun:split
CREATE INDEX board_rows_model ON board_rows (span, category, version, model, position);
--bun:split
CREATE INDEX board_rows_skill ON board_rows (version, skill, agent_id) WHERE span = 'all' AND category = '';
--bun:split
CREATE INDEX board_rows_brier ON board_rows (version, brier, agent_id) WHERE span = 'all' AND category = '' AND brier IS NOT NULL;
--bun:split
CREATE INDEX board_rows_calibration ON board_rows (version, calibration_error, agent_id) WHERE span = 'all' AND category = '' AND calibration_error IS NOT NULL;
--bun:split

-- board_records: the first boards built on a UTC day, for the archive, in parts of some thousand
-- rows each. content is a Parquet file. The rows are deleted once a later day is exported. Local;
-- owner leaderboard.
CREATE TABLE board_records (
  day TEXT NOT NULL,
  part BIGINT NOT NULL,
  as_of {{.TS}} NOT NULL,
  content {{.BYTES}} NOT NULL,
  PRIMARY KEY (day, part)
);
--bun:split

-- skill_history: an agent's skill at the end of each day on which it changed. By agent; owner
-- leaderboard.
CREATE TABLE skill_history (
  agent_id {{.UUID}} NOT NULL REFERENCES agents (id),
  day TEXT NOT NULL,
  skill {{.FLOAT}} NOT NULL,
  skill_low {{.FLOAT}},
  skill_high {{.FLOAT}},
  events BIGINT NOT NULL,
  PRIMARY KEY (agent_id, day)
);
--bun:split

-- assignments: open questions to forecast, chosen daily or written by an admin. Reference;
-- owner assignment.
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
  created_at {{.TS}} NOT NULL,
  announced BOOLEAN NOT NULL DEFAULT FALSE
);
--bun:split
CREATE UNIQUE INDEX assignments_day ON assignments (day, market_id);
--bun:split
CREATE INDEX assignments_open ON assignments (status, due_at, id);
--bun:split

-- admins: accounts of admins, either of this service or of the identity provider. Local; owner
-- admin.
CREATE TABLE admins (
  id {{.UUID}} PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  password TEXT NOT NULL,
  issuer TEXT,
  subject TEXT,
  created_at {{.TS}} NOT NULL,
  signed_in_at {{.TS}}
);
--bun:split
CREATE UNIQUE INDEX admins_subject ON admins (issuer, subject);
--bun:split

-- admin_sessions: cookies of signed-in admins, as hashes. Local; owner admin.
CREATE TABLE admin_sessions (
  hash {{.BYTES}} PRIMARY KEY,
  admin_id {{.UUID}} NOT NULL REFERENCES admins (id),
  address TEXT NOT NULL,
  created_at {{.TS}} NOT NULL,
  seen_at {{.TS}} NOT NULL,
  expires_at {{.TS}} NOT NULL
);
--bun:split
CREATE INDEX admin_sessions_admin ON admin_sessions (admin_id);
--bun:split

-- admin_attempts: failed sign-ins by name and by address. Local; owner admin.
CREATE TABLE admin_attempts (
  subject TEXT PRIMARY KEY,
  since {{.TS}} NOT NULL,
  failures BIGINT NOT NULL
);
--bun:split
CREATE INDEX admin_attempts_age ON admin_attempts (since);
--bun:split

-- admin_flows: completed sign-ins at the identity provider, so that none can be used twice. Local;
-- owner admin.
CREATE TABLE admin_flows (
  hash {{.BYTES}} PRIMARY KEY,
  expires_at {{.TS}} NOT NULL
);
--bun:split
CREATE INDEX admin_flows_expiry ON admin_flows (expires_at);
--bun:split

-- audit_log: every act of an admin. Append-only. Local; owner audit.
CREATE TABLE audit_log (
  id {{.UUID}} PRIMARY KEY,
  created_at {{.TS}} NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  before TEXT NOT NULL,
  after TEXT NOT NULL,
  note TEXT NOT NULL,
  address TEXT NOT NULL
);
--bun:split
CREATE INDEX audit_log_target ON audit_log (target, id);
--bun:split
CREATE INDEX audit_log_actor ON audit_log (actor, id);
--bun:split
CREATE INDEX audit_log_action ON audit_log (action, id);
--bun:split
{{if .PG}}
CREATE FUNCTION audit_log_append_only() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN RAISE EXCEPTION ''the audit log is append-only''; END';
--bun:split
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
  FOR EACH STATEMENT EXECUTE FUNCTION audit_log_append_only();
{{else}}
CREATE TRIGGER audit_log_no_update BEFORE UPDATE ON audit_log
  BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
--bun:split
CREATE TRIGGER audit_log_no_delete BEFORE DELETE ON audit_log
  BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
{{end}}
--bun:split

-- agent_notes: notes of admins about an agent. Reference; owner moderation.
CREATE TABLE agent_notes (
  id {{.UUID}} PRIMARY KEY,
  agent_id {{.UUID}} NOT NULL REFERENCES agents (id),
  author TEXT NOT NULL,
  text TEXT NOT NULL,
  created_at {{.TS}} NOT NULL
);
--bun:split
CREATE INDEX agent_notes_agent ON agent_notes (agent_id, id);
--bun:split

-- agent_activity: counts for sorting the admins' table of agents, updated from time to time.
-- Reference; owner agent.
CREATE TABLE agent_activity (
  agent_id {{.UUID}} PRIMARY KEY REFERENCES agents (id),
  requests BIGINT NOT NULL,
  errors BIGINT NOT NULL,
  limited BIGINT NOT NULL,
  predictions_day BIGINT NOT NULL,
  predictions_month BIGINT NOT NULL,
  predictions BIGINT NOT NULL DEFAULT 0,
  settled BIGINT NOT NULL DEFAULT 0
);
--bun:split
CREATE INDEX agent_activity_requests ON agent_activity (requests, agent_id);
--bun:split
CREATE INDEX agent_activity_errors ON agent_activity (errors, agent_id);
--bun:split
CREATE INDEX agent_activity_limited ON agent_activity (limited, agent_id);
--bun:split
CREATE INDEX agent_activity_day ON agent_activity (predictions_day, agent_id);
--bun:split
CREATE INDEX agent_activity_month ON agent_activity (predictions_month, agent_id);
--bun:split
CREATE INDEX agent_activity_predictions ON agent_activity (predictions, agent_id);
--bun:split
CREATE INDEX agent_activity_settled ON agent_activity (settled, agent_id);
--bun:split

-- reports: complaints about predictions, from agents or from readers of the site. author_id is the
-- agent that published the prediction. reader is a keyed hash of the reader's address while the
-- report is open, and empty once it is closed. There is no foreign key to predictions, because a
-- small table must not refer to a distributed one. Reference; owner moderation.
CREATE TABLE reports (
  id {{.UUID}} PRIMARY KEY,
  prediction_id {{.UUID}} NOT NULL,
  author_id {{.UUID}} NOT NULL REFERENCES agents (id),
  reporter_id {{.UUID}} REFERENCES agents (id),
  reader TEXT,
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  status TEXT NOT NULL,
  answer TEXT NOT NULL,
  created_at {{.TS}} NOT NULL,
  closed_at {{.TS}},
  closed_by TEXT,
  CHECK ((reporter_id IS NULL) = (reader IS NOT NULL))
);
--bun:split
CREATE UNIQUE INDEX reports_once ON reports (prediction_id, reporter_id, kind) WHERE status = 'open';
--bun:split
CREATE UNIQUE INDEX reports_once_by_reader ON reports (prediction_id, reader) WHERE status = 'open' AND reader IS NOT NULL;
--bun:split
CREATE INDEX reports_open ON reports (status, id);
--bun:split
CREATE INDEX reports_reporter ON reports (reporter_id, id);
--bun:split
CREATE INDEX reports_author ON reports (author_id);
--bun:split

-- settings: values that the service stores for itself, by name. Local; owner database.
CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);
--bun:split

-- snapshots: the last good snapshot of each feed. Local; owner signal.
CREATE TABLE snapshots (
  feed TEXT PRIMARY KEY,
  taken_at {{.TS}} NOT NULL,
  content {{.BYTES}} NOT NULL
);
--bun:split

-- feed_states: the state of each feed's readings. Local; owner ingest.
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

-- bad_payloads: the last answer of each source that could not be read. Local; owner ingest.
CREATE TABLE bad_payloads (
  source TEXT PRIMARY KEY,
  feed TEXT NOT NULL,
  reason TEXT NOT NULL,
  body {{.BYTES}} NOT NULL,
  cut BIGINT NOT NULL,
  received_at {{.TS}} NOT NULL
);
--bun:split

-- leases: which node may run each job, and until when. failures is how often a job failed in a row before its holder
-- passed it on. Local; owner worker.
CREATE TABLE leases (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  expires_at {{.TS}} NOT NULL,
  failures BIGINT NOT NULL DEFAULT 0
);
--bun:split

-- alerts: conditions that hold now or held before. Local; owner alert.
CREATE TABLE alerts (
  name TEXT PRIMARY KEY,
  firing BOOLEAN NOT NULL,
  told BOOLEAN NOT NULL,
  since {{.TS}} NOT NULL,
  over_at {{.TS}},
  text TEXT NOT NULL
);
--bun:split

-- server_errors: answers of 500 and above by minute, over all nodes. Local; owner alert.
CREATE TABLE server_errors (
  minute {{.TS}} PRIMARY KEY,
  count BIGINT NOT NULL
);
--bun:split

-- archive_segments: observations that wait to be sealed into a day of the archive. A segment holds
-- the encoded rows of one tick, table (kind) and source. Local; owner archive.
CREATE TABLE archive_segments (
  id {{.UUID}} PRIMARY KEY,
  day TEXT NOT NULL,
  kind TEXT NOT NULL,
  source TEXT NOT NULL,
  records BIGINT NOT NULL,
  content {{.BYTES}} NOT NULL,
  created_at {{.TS}} NOT NULL
);
--bun:split
CREATE INDEX archive_segments_day ON archive_segments (day, id);
--bun:split

-- archive_days: the sealed days of the archive, each with its manifest, the manifest's SHA-256, and
-- whether the day is abandoned, because it was sealed after the backup that this database was restored
-- from. abandoned_from is the manifest's abandonedFrom. Local; owner archive.
CREATE TABLE archive_days (
  day TEXT PRIMARY KEY,
  manifest {{.JSON}} NOT NULL,
  hash {{.BYTES}} NOT NULL,
  sealed_at {{.TS}} NOT NULL,
  abandoned BOOLEAN NOT NULL,
  abandoned_from TEXT
);
--bun:split
CREATE INDEX archive_days_abandoning ON archive_days (day) WHERE abandoned_from IS NOT NULL;
--bun:split

-- redactions: the records whose texts were erased from a sealed day, and why. Local; owner archive.
CREATE TABLE redactions (
  id {{.UUID}} PRIMARY KEY,
  day TEXT NOT NULL,
  kind TEXT NOT NULL,
  record TEXT NOT NULL,
  reason TEXT NOT NULL,
  created_at {{.TS}} NOT NULL,
  UNIQUE (day, kind, record)
);
--bun:split

-- redaction_requests: records whose texts must be erased from the archive. kind is the table of the
-- record, or "profiles" for an agent without its predictions. next_day is the next day to search.
-- done_at is when all days were searched. A record stays listed, so that a later day can't bring its
-- texts back. Local; owner archive.
CREATE TABLE redaction_requests (
  id {{.UUID}} PRIMARY KEY,
  kind TEXT NOT NULL,
  record TEXT NOT NULL,
  reason TEXT NOT NULL,
  next_day TEXT NOT NULL,
  last_day TEXT NOT NULL,
  created_at {{.TS}} NOT NULL,
  done_at {{.TS}},
  UNIQUE (kind, record)
);
--bun:split
CREATE INDEX redaction_requests_open ON redaction_requests (id) WHERE done_at IS NULL;
--bun:split

-- archive_posts: archived posts whose sources are asked whether the posts still exist. A post that
-- its source has deleted is erased from the archive. missing_since is when an answer of the source
-- first lacked the post. Local; owner archive.
CREATE TABLE archive_posts (
  id TEXT PRIMARY KEY,
  source TEXT NOT NULL,
  first_day TEXT NOT NULL,
  last_day TEXT NOT NULL,
  checked_at {{.TS}} NOT NULL,
  missing_since {{.TS}}
);
--bun:split
CREATE INDEX archive_posts_due ON archive_posts (source, checked_at);
