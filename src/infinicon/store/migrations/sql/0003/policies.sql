-- What a namespace wants otherwise than the house does. No row: the defaults.
CREATE TABLE policies (
  tenant                  integer NOT NULL,
  namespace               integer NOT NULL,
  audit_seconds           integer NOT NULL DEFAULT 0 CHECK (audit_seconds >= 0),       -- how long tombstoned content is kept for an audit
  default_expiry_seconds  integer CHECK (default_expiry_seconds > 0),                  -- of episodes that bring no expiresAt
  job_retention_seconds   integer CHECK (job_retention_seconds > 0),                   -- of finished jobs
  event_retention_seconds integer CHECK (event_retention_seconds > 0),
  updated_at              timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, namespace),
  FOREIGN KEY (tenant, namespace) REFERENCES namespaces
);
ALTER TABLE policies ENABLE ROW LEVEL SECURITY;
ALTER TABLE policies FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON policies TO infinicon_app USING (tenant = NULLIF(current_setting('infinicon.tenant', true), '')::integer);
GRANT SELECT, INSERT, UPDATE ON policies TO infinicon_app;
CREATE POLICY sweep ON policies TO infinicon_sweeper USING (true);
GRANT SELECT ON policies TO infinicon_sweeper;
CREATE INDEX jobs_over_idx ON jobs (updated_at) WHERE status IN ('completed', 'failed', 'cancelled');
GRANT SELECT (namespace, updated_at), DELETE ON jobs TO infinicon_sweeper;
