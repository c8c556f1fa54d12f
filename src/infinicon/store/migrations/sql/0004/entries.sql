-- Entries: atoms and consolidations as RFC 0113 reads them, newest first, as many as fit into a budget (docs/decisions/0014).

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
CREATE FUNCTION entry_facets(agent_id text, session_id text, tags text[]) RETURNS SETOF bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT infinicon.entry_facet(agent, session, tag)
  FROM unnest(CASE WHEN agent_id IS NULL THEN ARRAY[NULL]::text[] ELSE ARRAY[NULL, agent_id] END) AS agent,
       unnest(CASE WHEN session_id IS NULL THEN ARRAY[NULL]::text[] ELSE ARRAY[NULL, session_id] END) AS session,
       unnest(ARRAY[NULL]::text[] || CASE WHEN cardinality(tags) > 1 THEN ARRAY(SELECT DISTINCT unnest(tags)) ELSE tags END) AS tag
$$;

CREATE FUNCTION entry_size(counter text, o200k_base integer, cl100k_base integer, chars integer, host integer, host_counter text)
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(CASE counter WHEN 'o200k_base' THEN o200k_base WHEN 'cl100k_base' THEN cl100k_base WHEN 'chars' THEN chars
                               WHEN host_counter THEN host END, -1)
$$;

-- What the rows of all entries are, by the counter that is used now.
CREATE VIEW derived_entry_rows WITH (security_invoker = true) AS
SELECT m.tenant, m.namespace, facets.facet, orders.counter, orders.size, m.created_at, m.id AS memory
FROM (SELECT id, name FROM token_counters ORDER BY used_since DESC, id LIMIT 1) used, memories m,
     LATERAL entry_facets(m.agent_id, m.session_id, m.tags) AS facets (facet),
     LATERAL (VALUES (0::smallint, 0),
                     (used.id, entry_size(used.name, m.content_o200k_base, m.content_cl100k_base, m.content_chars, m.content_host,
                                          m.host_counter))) AS orders (counter, size)
WHERE m.type <> 'episode' AND m.status = 'active' AND NOT m.stale AND m.content IS NOT NULL;

-- Rows follow their memory by triggers: its status is written in many places, and one that forgot would list what is gone, or hide what
-- is there. Plans are kept, against what the role has set: they are lookups by key, whatever the tables have become.
CREATE FUNCTION list_entry() RETURNS trigger
LANGUAGE plpgsql SET search_path = infinicon, pg_temp SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  INSERT INTO entry_rows (tenant, namespace, facet, counter, size, created_at, memory)
  SELECT d.tenant, d.namespace, d.facet, d.counter, d.size, d.created_at, d.memory
  FROM derived_entry_rows d WHERE d.tenant = NEW.tenant AND d.memory = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER memories_listed AFTER INSERT ON memories FOR EACH ROW
  WHEN (NEW.type <> 'episode' AND NEW.status = 'active') EXECUTE FUNCTION list_entry();

-- Updates come by the thousand, so they are followed a statement at a time: rows that a memory had and has no more go, rows that it has
-- now and had not come. Which counter a row was made for is not known any more, but what each of them made of the memory is. (A join of
-- what went with what came would be a nested loop of thousands by thousands: nothing is known of how many there are.) Who may not see
-- entries, as the sweeper, changes episodes alone, and ends at the first question.
CREATE FUNCTION relist_entries() RETURNS trigger
LANGUAGE plpgsql SET search_path = infinicon, pg_temp SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM came WHERE type <> 'episode') THEN
    RETURN NULL;
  END IF;
  DELETE FROM entry_rows r
  USING (
    SELECT o.tenant, o.namespace, facets.facet, orders.counter, orders.size, o.created_at, o.id
    FROM went o, LATERAL entry_facets(o.agent_id, o.session_id, o.tags) AS facets (facet),
         LATERAL (SELECT 0::smallint AS counter, 0 AS size
                  UNION ALL
                  SELECT c.id, entry_size(c.name, o.content_o200k_base, o.content_cl100k_base, o.content_chars, o.content_host,
                                          o.host_counter)
                  FROM token_counters c) orders
    WHERE o.type <> 'episode' AND o.status = 'active' AND NOT o.stale AND o.content IS NOT NULL
    EXCEPT
    SELECT n.tenant, n.namespace, facets.facet, orders.counter, orders.size, n.created_at, n.id
    FROM came n, LATERAL entry_facets(n.agent_id, n.session_id, n.tags) AS facets (facet),
         LATERAL (SELECT 0::smallint AS counter, 0 AS size
                  UNION ALL
                  SELECT c.id, entry_size(c.name, n.content_o200k_base, n.content_cl100k_base, n.content_chars, n.content_host,
                                          n.host_counter)
                  FROM token_counters c) orders
    WHERE n.type <> 'episode' AND n.status = 'active' AND NOT n.stale AND n.content IS NOT NULL
  ) gone
  WHERE r.tenant = gone.tenant AND r.namespace = gone.namespace AND r.facet = gone.facet AND r.counter = gone.counter
    AND r.size = gone.size AND r.created_at = gone.created_at AND r.memory = gone.id;
  INSERT INTO entry_rows (tenant, namespace, facet, counter, size, created_at, memory)
  SELECT n.tenant, n.namespace, facets.facet, orders.counter, orders.size, n.created_at, n.id
  FROM (SELECT id, name FROM token_counters ORDER BY used_since DESC, id LIMIT 1) used,
       came n, LATERAL entry_facets(n.agent_id, n.session_id, n.tags) AS facets (facet),
       LATERAL (VALUES (0::smallint, 0),
                       (used.id, entry_size(used.name, n.content_o200k_base, n.content_cl100k_base, n.content_chars, n.content_host,
                                            n.host_counter))) AS orders (counter, size)
  WHERE n.type <> 'episode' AND n.status = 'active' AND NOT n.stale AND n.content IS NOT NULL
  EXCEPT
  SELECT o.tenant, o.namespace, facets.facet, orders.counter, orders.size, o.created_at, o.id
  FROM (SELECT id, name FROM token_counters ORDER BY used_since DESC, id LIMIT 1) used,
       went o, LATERAL entry_facets(o.agent_id, o.session_id, o.tags) AS facets (facet),
       LATERAL (VALUES (0::smallint, 0),
                       (used.id, entry_size(used.name, o.content_o200k_base, o.content_cl100k_base, o.content_chars, o.content_host,
                                            o.host_counter))) AS orders (counter, size)
  WHERE o.type <> 'episode' AND o.status = 'active' AND NOT o.stale AND o.content IS NOT NULL
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER memories_relisted AFTER UPDATE ON memories REFERENCING OLD TABLE AS went NEW TABLE AS came
  FOR EACH STATEMENT EXECUTE FUNCTION relist_entries();

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
