-- Secrets that a tenant has made known, for one purpose: to take them out of what is written. Encrypted under the master key.
CREATE TABLE secrets (
  tenant     integer NOT NULL REFERENCES tenants,
  id         uuid NOT NULL,
  ciphertext bytea NOT NULL,
  key_id     text NOT NULL,  -- which master key
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, id)
);

-- One for each set of secrets that a tenant has had. It is random, and so names that set wherever it is remembered.
CREATE TABLE secret_versions (
  tenant  integer PRIMARY KEY REFERENCES tenants,
  version uuid NOT NULL
);
ALTER TABLE secrets ENABLE ROW LEVEL SECURITY;
ALTER TABLE secrets FORCE ROW LEVEL SECURITY;
ALTER TABLE secret_versions ENABLE ROW LEVEL SECURITY;
ALTER TABLE secret_versions FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON secrets TO infinicon_app USING (tenant = NULLIF(current_setting('infinicon.tenant', true), '')::integer);
CREATE POLICY tenant ON secret_versions TO infinicon_app USING (tenant = NULLIF(current_setting('infinicon.tenant', true), '')::integer);
GRANT SELECT, INSERT, DELETE ON secrets TO infinicon_app;
GRANT SELECT, INSERT, UPDATE ON secret_versions TO infinicon_app;

-- Writers hold the version that they know until they commit, side by side. Whoever changes it waits for them, and they for whoever
-- changes it. Two statements, since the second must see what was committed while the first one waited.
CREATE FUNCTION hold_secrets(wanted integer) RETURNS uuid
LANGUAGE plpgsql VOLATILE SET search_path = infinicon, pg_temp AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtextextended('secrets ' || wanted, 0));
  RETURN (SELECT v.version FROM secret_versions v WHERE v.tenant = wanted);
END $$;
REVOKE ALL ON FUNCTION hold_secrets(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hold_secrets(integer) TO infinicon_app;

-- Jobs that take a secret out of what is stored belong to a tenant, and to no namespace.
CREATE INDEX jobs_redact_idx ON jobs (tenant, id) WHERE type = 'redact' AND status IN ('queued', 'running');

-- Whether what looks like a credential is replaced by the name of the rule that says so.
ALTER TABLE policies ADD COLUMN redact_credentials boolean NOT NULL DEFAULT false;

-- Labels of keys may say a secret that became known later; also those of revoked keys, which nothing else of the app may change.
CREATE FUNCTION reword_key(key uuid, said text) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = infinicon, pg_temp AS $$
  UPDATE keys k SET label = said
  WHERE k.tenant = NULLIF(current_setting('infinicon.tenant', true), '')::integer AND k.id = key
$$;
REVOKE ALL ON FUNCTION reword_key(uuid, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION reword_key(uuid, text) TO infinicon_app;
