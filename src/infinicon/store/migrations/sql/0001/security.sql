-- Row-level security holds even where a statement forgets its tenant, and even for the owner (FORCE). The setting is '' after the
-- transaction that set it, hence NULLIF.
DO $$
DECLARE
  scoped text;
BEGIN
  FOREACH scoped IN ARRAY ARRAY['namespaces', 'namespace_counters', 'keys', 'memories', 'links', 'jobs', 'batches',
      'queued_episodes', 'idempotency', 'space_rows', 'postings', 'staged_vectors', 'events'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', scoped);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', scoped);
    EXECUTE format($policy$CREATE POLICY tenant ON %I TO infinicon_app
      USING (tenant = NULLIF(current_setting('infinicon.tenant', true), '')::integer)$policy$, scoped);
  END LOOP;
END $$;
ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenants FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON tenants TO infinicon_app USING (id = NULLIF(current_setting('infinicon.tenant', true), '')::integer);

-- The owner provisions tenants and keys, and nothing else of a tenant's.
CREATE POLICY owner ON tenants TO CURRENT_USER USING (true);
CREATE POLICY owner ON namespaces TO CURRENT_USER USING (true);
CREATE POLICY owner ON namespace_counters TO CURRENT_USER USING (true);
CREATE POLICY owner ON keys TO CURRENT_USER USING (true);

GRANT SELECT ON tenants, keys TO infinicon_app;
GRANT SELECT, INSERT ON namespaces, embedding_models TO infinicon_app;
GRANT SELECT, INSERT, UPDATE ON namespace_counters, idempotency TO infinicon_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON memories, links, jobs, batches, queued_episodes, space_rows, postings, staged_vectors
  TO infinicon_app;
GRANT SELECT, INSERT ON events TO infinicon_app;
GRANT SELECT ON schema_version TO infinicon_app, infinicon_sweeper;

-- The sweeper moves work of all tenants and sees ids and states only.
CREATE POLICY sweep ON jobs TO infinicon_sweeper USING (true);
CREATE POLICY sweep ON batches TO infinicon_sweeper USING (true);
CREATE POLICY sweep ON queued_episodes TO infinicon_sweeper USING (true);
CREATE POLICY sweep ON memories TO infinicon_sweeper USING (true);
CREATE POLICY sweep ON staged_vectors TO infinicon_sweeper USING (true);
CREATE POLICY sweep ON idempotency TO infinicon_sweeper USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON batches TO infinicon_sweeper;
GRANT SELECT, UPDATE ON queued_episodes TO infinicon_sweeper;
GRANT SELECT (tenant, id, status, total, done, failed, cancelled), UPDATE (status, done, failed, error, updated_at)
  ON jobs TO infinicon_sweeper;
GRANT SELECT (tenant, id, status), UPDATE (status, updated_at) ON memories TO infinicon_sweeper;
GRANT SELECT (tenant, batch), DELETE ON staged_vectors TO infinicon_sweeper;
GRANT SELECT (tenant, key_hmac, created_at), DELETE ON idempotency TO infinicon_sweeper;

-- A key is looked up before its tenant is known: the one question that the app's role may ask across tenants.
CREATE FUNCTION authenticate(wanted bytea)
RETURNS TABLE (tenant integer, tenant_name text, key uuid, permissions text[], namespaces integer[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = infinicon, pg_temp AS $$
  SELECT k.tenant, t.name, k.id, k.permissions, k.namespaces
  FROM keys k JOIN tenants t ON t.id = k.tenant
  WHERE k.digest = wanted AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
$$;
REVOKE ALL ON FUNCTION authenticate(bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION authenticate(bytea) TO infinicon_app;
