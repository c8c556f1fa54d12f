-- Runs of the conformance seam (docs/openwop.md). They say where what they wrote and saw is, and hold none of it: what is deleted is gone
-- from them, too.
CREATE TABLE conformance_runs (
  tenant      integer NOT NULL REFERENCES tenants,
  id          uuid NOT NULL,
  workflow    text NOT NULL,
  source      uuid,                             -- of a replay: the run whose record it repeats
  status      text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'running', 'completed', 'failed')),
  created_at  timestamptz NOT NULL DEFAULT now(),
  started_at  timestamptz,
  finished_at timestamptz,
  written     jsonb NOT NULL DEFAULT '[]',      -- entries, in the order in which they were written
  variables   jsonb NOT NULL DEFAULT '{}',
  error       jsonb,
  PRIMARY KEY (tenant, id),
  CHECK ((status IN ('completed', 'failed')) = (finished_at IS NOT NULL))
);
ALTER TABLE conformance_runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE conformance_runs FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON conformance_runs TO infinicon_app
  USING (tenant = NULLIF(current_setting('infinicon.tenant', true), '')::integer);
GRANT SELECT, INSERT, UPDATE, DELETE ON conformance_runs TO infinicon_app;
