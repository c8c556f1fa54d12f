-- Consolidation: which memories nobody has looked at yet, who looks at them, and what came of it.

-- Within what a consolidation stays: one agentId across its sessions, unless the namespace wants it narrower or wider.
ALTER TABLE policies ADD COLUMN consolidation_width text NOT NULL DEFAULT 'agent'
  CONSTRAINT policies_consolidation_width_check CHECK (consolidation_width IN ('session', 'agent', 'namespace'));

-- What is consolidated together, at the width that the policy had when the first atom came. Names are '' where there is none, or where
-- the width makes no difference between them: absent equals absent, and equality is all that the index needs.
CREATE TABLE consolidation_scopes (
  tenant          integer NOT NULL,
  id              bigint GENERATED ALWAYS AS IDENTITY,
  namespace       integer NOT NULL,
  width           text NOT NULL CHECK (width IN ('session', 'agent', 'namespace')),
  agent_id        text NOT NULL DEFAULT '',
  session_id      text NOT NULL DEFAULT '',
  waiting         integer NOT NULL DEFAULT 0 CHECK (waiting >= 0),  -- rows of the backlog that count; moved last, by UPDATE … RETURNING
  oldest_at       timestamptz,  -- since when something waits
  last_indexed_at timestamptz,
  last_run_at     timestamptz,
  failures        integer NOT NULL DEFAULT 0,  -- runs since the last that did not fail
  due_at          timestamptz,
  job             uuid,         -- whose turn it is; one at a time
  PRIMARY KEY (tenant, id),
  CONSTRAINT consolidation_scopes_names_key UNIQUE (tenant, namespace, width, agent_id, session_id),
  FOREIGN KEY (tenant, namespace) REFERENCES namespaces
) WITH (fillfactor = 70);
CREATE INDEX consolidation_scopes_job_idx ON consolidation_scopes (tenant, job, id) WHERE job IS NOT NULL;

-- Atoms that no consolidation has looked at yet. `undone`: a person took back what was made of it, so it waits for a person.
CREATE TABLE consolidation_backlog (
  tenant   integer NOT NULL,
  memory   uuid NOT NULL,
  scope    bigint NOT NULL,
  undone   boolean NOT NULL DEFAULT false,
  added_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, memory)
);
CREATE INDEX consolidation_backlog_scope_idx ON consolidation_backlog (tenant, scope, memory);

-- What one job carries from slice to slice, and the lease of who works on it (as batches have it).
CREATE TABLE consolidation_runs (
  tenant       integer NOT NULL,
  job          uuid NOT NULL,
  state        text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'closed')),
  urgent       boolean NOT NULL,                   -- somebody asked for it
  spec         jsonb NOT NULL DEFAULT '{}',        -- what of the backlog is meant, where not all
  after        uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',  -- looked at so far, in the scope at hand
  started      boolean NOT NULL DEFAULT false,
  attempt      integer NOT NULL DEFAULT 1,
  faults       smallint NOT NULL DEFAULT 0,
  lease        uuid,
  lease_until  timestamptz,
  not_before   timestamptz NOT NULL DEFAULT now(),
  published_at timestamptz NOT NULL DEFAULT '-infinity',
  publishes    integer NOT NULL DEFAULT 0,
  created_at   timestamptz NOT NULL DEFAULT now(),
  updated_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, job),
  FOREIGN KEY (tenant, job) REFERENCES jobs ON DELETE CASCADE,
  CHECK ((lease IS NULL) = (lease_until IS NULL))
) WITH (fillfactor = 50);
CREATE INDEX consolidation_runs_new_idx ON consolidation_runs (urgent DESC, created_at) WHERE state = 'open' AND publishes = 0;
CREATE INDEX consolidation_runs_open_idx ON consolidation_runs (created_at) WHERE state = 'open' AND publishes > 0;

-- What a job made of which memory, so that it can be taken back, and so that what gave way comes back when its successor goes.
CREATE TABLE consolidation_changes (
  tenant integer NOT NULL,
  job    uuid NOT NULL,
  kind   text NOT NULL CHECK (kind IN ('created', 'superseded', 'folded', 'disputed')),
  memory uuid NOT NULL,
  other  uuid NOT NULL,  -- its successor, or what contradicts it; of one that was created itself
  was    text NOT NULL,  -- its status before
  reason text,           -- a word of the plug-in
  undone boolean NOT NULL DEFAULT false,
  refused boolean NOT NULL DEFAULT false,  -- a person took it back: nobody makes it again
  fingerprint bytea,  -- of one that was created: it names it when its memory is gone
  PRIMARY KEY (tenant, job, kind, memory, other)
);
CREATE INDEX consolidation_changes_refused_idx ON consolidation_changes (tenant, memory) WHERE refused;
CREATE INDEX consolidation_changes_fingerprint_idx ON consolidation_changes (tenant, fingerprint) WHERE refused;
CREATE INDEX consolidation_changes_other_idx ON consolidation_changes (tenant, other) WHERE NOT undone;
CREATE INDEX consolidation_changes_memory_idx ON consolidation_changes (tenant, memory) WHERE NOT undone;

-- Where an atom belongs: the one place that reads the width.
CREATE VIEW consolidation_names WITH (security_invoker = true) AS
SELECT m.tenant, m.id AS memory, m.namespace, width.name AS width,
       CASE WHEN width.name = 'namespace' THEN '' ELSE coalesce(m.agent_id, '') END AS agent_id,
       CASE WHEN width.name = 'session' THEN coalesce(m.session_id, '') ELSE '' END AS session_id
FROM memories m
LEFT JOIN policies p ON p.tenant = m.tenant AND p.namespace = m.namespace,
     LATERAL (SELECT coalesce(p.consolidation_width, 'agent') AS name) width
WHERE m.type = 'atom' AND m.status IN ('active', 'disputed') AND NOT m.stale;

CREATE INDEX memories_stale_idx ON memories (tenant, namespace) WHERE stale;

DO $$
DECLARE
  scoped text;
BEGIN
  FOREACH scoped IN ARRAY ARRAY['consolidation_scopes', 'consolidation_backlog', 'consolidation_runs', 'consolidation_changes'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', scoped);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', scoped);
    EXECUTE format($policy$CREATE POLICY tenant ON %I TO infinicon_app
      USING (tenant = NULLIF(current_setting('infinicon.tenant', true), '')::integer)$policy$, scoped);
  END LOOP;
END $$;
GRANT SELECT, INSERT, UPDATE ON consolidation_scopes, consolidation_runs, consolidation_changes TO infinicon_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON consolidation_backlog TO infinicon_app;
GRANT SELECT ON consolidation_names TO infinicon_app;

-- The sweeper brings back lost work. It sees ids, states and times.
CREATE POLICY sweep ON consolidation_scopes TO infinicon_sweeper USING (true);
CREATE POLICY sweep ON consolidation_runs TO infinicon_sweeper USING (true);
GRANT SELECT (tenant, id, namespace, waiting, oldest_at, last_indexed_at, last_run_at, failures, due_at, job), UPDATE (due_at)
  ON consolidation_scopes TO infinicon_sweeper;
GRANT SELECT (tenant, job, state, urgent, attempt, faults, lease, lease_until, not_before, published_at, publishes, created_at),
      UPDATE (attempt, faults, lease, lease_until, not_before, published_at, publishes, updated_at)
  ON consolidation_runs TO infinicon_sweeper;

ALTER TABLE consolidation_scopes ALTER COLUMN agent_id SET STATISTICS 0, ALTER COLUMN session_id SET STATISTICS 0;
ALTER TABLE consolidation_runs ALTER COLUMN spec SET STATISTICS 0;

-- What is there already waits, too. The owner sees no tenant's memories but for this moment.
ALTER TABLE memories NO FORCE ROW LEVEL SECURITY;
ALTER TABLE consolidation_scopes NO FORCE ROW LEVEL SECURITY;
ALTER TABLE consolidation_backlog NO FORCE ROW LEVEL SECURITY;
INSERT INTO consolidation_scopes (tenant, namespace, width, agent_id, waiting, oldest_at, last_indexed_at)
SELECT tenant, namespace, 'agent', coalesce(agent_id, ''), count(*), now(), now() FROM memories
WHERE type = 'atom' AND status IN ('active', 'disputed') GROUP BY tenant, namespace, coalesce(agent_id, '');
INSERT INTO consolidation_backlog (tenant, memory, scope)
SELECT m.tenant, m.id, s.id FROM memories m
JOIN consolidation_scopes s ON s.tenant = m.tenant AND s.namespace = m.namespace AND s.agent_id = coalesce(m.agent_id, '')
WHERE m.type = 'atom' AND m.status IN ('active', 'disputed');
ALTER TABLE memories FORCE ROW LEVEL SECURITY;
ALTER TABLE consolidation_scopes FORCE ROW LEVEL SECURITY;
ALTER TABLE consolidation_backlog FORCE ROW LEVEL SECURITY;
