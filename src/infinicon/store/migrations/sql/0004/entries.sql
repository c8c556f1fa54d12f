-- Entries: atoms and consolidations as RFC 0113 reads them, newest first, as many as fit into a budget (docs/decisions/0012).

ALTER TABLE memories
  ADD COLUMN put          boolean NOT NULL DEFAULT false,  -- an episode that put stored, or the atom that says it
  ADD COLUMN content_host integer,                         -- the content alone, by a counter of the host's own
  ADD COLUMN host_counter text;                            -- which one that was
ALTER TABLE memories ALTER COLUMN host_counter SET STATISTICS 0;

-- What tokenBudget counts is one for all: the counter that was set last. Those of before are kept, since rows name them.
CREATE TABLE token_counters (
  id         smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text NOT NULL CONSTRAINT token_counters_name_key UNIQUE,
  used_since timestamptz NOT NULL
);
INSERT INTO token_counters (name, used_since) VALUES ('o200k_base', now()), ('cl100k_base', '-infinity'), ('chars', '-infinity');

-- Whose entries a list reads: of an agent, of a session, with a tag, each of them or not. A digest, since equality is all that is asked.
CREATE FUNCTION entry_facet(agent_id text, session_id text, tag text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT hashtextextended(coalesce('=' || tag, ''),
                          hashtextextended(coalesce('=' || session_id, ''), hashtextextended(coalesce('=' || agent_id, ''), 0)))
$$;

-- The orders in which entries are read, one key for each: counter 0 is by time alone, any other by what that counter counts, and then
-- by time. -1 is a size that is not known. What is read here is looked up in memories, which decides.
CREATE TABLE entry_rows (
  tenant     integer NOT NULL,
  namespace  integer NOT NULL,
  facet      bigint NOT NULL,
  counter    smallint NOT NULL,
  size       integer NOT NULL,
  created_at timestamptz NOT NULL,
  memory     uuid NOT NULL,
  PRIMARY KEY (tenant, namespace, facet, counter, size, created_at, memory)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX entry_rows_memory_idx ON entry_rows (tenant, memory);

CREATE VIEW derived_entry_rows WITH (security_invoker = true) AS
SELECT m.tenant, m.namespace, facets.facet, orders.counter, orders.size, m.created_at, m.id AS memory
FROM memories m,
     LATERAL (SELECT DISTINCT entry_facet(agents.id, sessions.id, tags.tag) AS facet
              FROM unnest(ARRAY[NULL, m.agent_id]) AS agents (id), unnest(ARRAY[NULL, m.session_id]) AS sessions (id),
                   unnest(ARRAY[NULL]::text[] || m.tags) AS tags (tag)) facets,
     LATERAL (SELECT 0::smallint AS counter, 0 AS size
              UNION ALL
              SELECT c.id, coalesce(CASE c.name WHEN 'o200k_base' THEN m.content_o200k_base WHEN 'cl100k_base' THEN m.content_cl100k_base
                                                WHEN 'chars' THEN m.content_chars WHEN m.host_counter THEN m.content_host END, -1)
              FROM (SELECT id, name FROM token_counters ORDER BY used_since DESC, id LIMIT 1) c) orders
WHERE m.type <> 'episode' AND m.status = 'active' AND NOT m.stale AND m.content IS NOT NULL;

-- Rows follow their memory by a trigger: its status is written in many places, and one that forgot would list what is gone, or hide what
-- is there. The plan is kept, against what the role has set: it is a lookup by key, whatever the tables have become.
CREATE FUNCTION follow_entry() RETURNS trigger
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM infinicon.entry_rows r WHERE r.tenant = OLD.tenant AND r.memory = OLD.id;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO infinicon.entry_rows (tenant, namespace, facet, counter, size, created_at, memory)
    SELECT d.tenant, d.namespace, d.facet, d.counter, d.size, d.created_at, d.memory
    FROM infinicon.derived_entry_rows d WHERE d.tenant = NEW.tenant AND d.memory = NEW.id;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER memories_listed AFTER INSERT ON memories FOR EACH ROW
  WHEN (NEW.type <> 'episode' AND NEW.status = 'active') EXECUTE FUNCTION follow_entry();
CREATE TRIGGER memories_relisted AFTER UPDATE ON memories FOR EACH ROW
  WHEN (NEW.type <> 'episode' AND (OLD.status = 'active' OR NEW.status = 'active')
        AND (OLD.status, OLD.stale, OLD.tags, OLD.content IS NULL, OLD.content_o200k_base, OLD.content_cl100k_base, OLD.content_chars,
             OLD.content_host, OLD.host_counter)
            IS DISTINCT FROM
            (NEW.status, NEW.stale, NEW.tags, NEW.content IS NULL, NEW.content_o200k_base, NEW.content_cl100k_base, NEW.content_chars,
             NEW.content_host, NEW.host_counter))
  EXECUTE FUNCTION follow_entry();
CREATE TRIGGER memories_unlisted AFTER DELETE ON memories FOR EACH ROW
  WHEN (OLD.type <> 'episode') EXECUTE FUNCTION follow_entry();

-- Memories that were there before. The owner sees them only while row-level security does not bind it.
ALTER TABLE memories NO FORCE ROW LEVEL SECURITY;
INSERT INTO entry_rows (tenant, namespace, facet, counter, size, created_at, memory)
SELECT tenant, namespace, facet, counter, size, created_at, memory FROM derived_entry_rows;
ALTER TABLE memories FORCE ROW LEVEL SECURITY;

-- A memoryRef that stands for a scope. One without a row stands for the namespace of that very name.
CREATE TABLE memory_bindings (
  tenant     integer NOT NULL,
  ref        text COLLATE "C" NOT NULL,  -- listed in the order of its code points
  namespace  integer NOT NULL,
  agent_id   text,
  session_id text,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, ref),
  FOREIGN KEY (tenant, namespace) REFERENCES namespaces
);
ALTER TABLE memory_bindings
  ALTER COLUMN ref SET STATISTICS 0, ALTER COLUMN agent_id SET STATISTICS 0, ALTER COLUMN session_id SET STATISTICS 0;

ALTER TABLE entry_rows ENABLE ROW LEVEL SECURITY;
ALTER TABLE entry_rows FORCE ROW LEVEL SECURITY;
ALTER TABLE memory_bindings ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_bindings FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON entry_rows TO infinicon_app USING (tenant = NULLIF(current_setting('infinicon.tenant', true), '')::integer);
CREATE POLICY tenant ON memory_bindings TO infinicon_app USING (tenant = NULLIF(current_setting('infinicon.tenant', true), '')::integer);
GRANT SELECT, INSERT, DELETE ON entry_rows TO infinicon_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON memory_bindings TO infinicon_app;
GRANT SELECT ON derived_entry_rows TO infinicon_app;
GRANT SELECT, INSERT ON token_counters TO infinicon_app;
GRANT UPDATE (used_since) ON token_counters TO infinicon_app;
