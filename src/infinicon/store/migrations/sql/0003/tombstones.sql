-- A tombstone keeps ids, times, who and why. The content goes with it, at once, unless the namespace's policy keeps it for an audit.
ALTER TABLE memories
  ADD COLUMN stale boolean NOT NULL DEFAULT false,  -- a source was tombstoned under mark_derived_stale
  ADD COLUMN purge_job uuid;                        -- hidden already; its content and index rows go with this job
CREATE INDEX memories_purge_idx ON memories (tenant, purge_job, id) WHERE purge_job IS NOT NULL;

CREATE TABLE tombstones (
  tenant     integer NOT NULL,
  memory     uuid NOT NULL,
  namespace  integer NOT NULL,
  key        uuid,          -- whose key asked for it; NULL: time did (expiry)
  reason     text NOT NULL,
  root       boolean NOT NULL, -- named in the request, not reached by its cascade
  cascade    text NOT NULL CHECK (cascade IN ('none', 'mark_derived_stale', 'tombstone_derived')),
  kept       jsonb,         -- what an audit may see, until kept_until
  kept_until timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, memory),
  CHECK ((kept IS NULL) = (kept_until IS NULL))
);
CREATE INDEX tombstones_kept_idx ON tombstones (kept_until) WHERE kept_until IS NOT NULL;
ALTER TABLE tombstones ENABLE ROW LEVEL SECURITY;
ALTER TABLE tombstones FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON tombstones TO infinicon_app USING (tenant = NULLIF(current_setting('infinicon.tenant', true), '')::integer);
GRANT SELECT, INSERT, UPDATE ON tombstones TO infinicon_app;
-- The sweeper ends audits on time, whether or not anybody asks.
CREATE POLICY sweep ON tombstones TO infinicon_sweeper USING (true);
GRANT SELECT (tenant, memory, kept_until), UPDATE (kept, kept_until) ON tombstones TO infinicon_sweeper;

-- What an erasure looks for: a caller's words, which only the tenant sees.
ALTER TABLE jobs ADD COLUMN spec jsonb;
CREATE INDEX jobs_purge_idx ON jobs (tenant, id) WHERE type IN ('tombstone', 'erase') AND status IN ('queued', 'running');
GRANT SELECT (type) ON jobs TO infinicon_sweeper;

CREATE INDEX memories_expiry_idx ON memories (expires_at) WHERE expires_at IS NOT NULL AND status <> 'tombstoned';
GRANT SELECT (namespace, expires_at) ON memories TO infinicon_sweeper;

-- ANALYZE keeps samples of values in pg_statistic, where no tombstone reaches them: of users' text it shall keep none.
ALTER TABLE memories
  ALTER COLUMN content SET STATISTICS 0, ALTER COLUMN search_text SET STATISTICS 0, ALTER COLUMN speaker SET STATISTICS 0,
  ALTER COLUMN title SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0, ALTER COLUMN tags SET STATISTICS 0,
  ALTER COLUMN filters SET STATISTICS 0, ALTER COLUMN dedupe_key SET STATISTICS 0, ALTER COLUMN created_by SET STATISTICS 0;
ALTER TABLE links ALTER COLUMN speaker SET STATISTICS 0;
ALTER TABLE jobs ALTER COLUMN spec SET STATISTICS 0, ALTER COLUMN result SET STATISTICS 0, ALTER COLUMN error SET STATISTICS 0;
ALTER TABLE tombstones ALTER COLUMN reason SET STATISTICS 0, ALTER COLUMN kept SET STATISTICS 0;
