-- What getJob reports. `done + failed = total` closes a job; the counters move in the transaction that finishes its episodes.
CREATE TABLE jobs (
  tenant     integer NOT NULL,
  id         uuid NOT NULL,
  namespace  integer NOT NULL,
  agent_id   text,
  session_id text,
  type       text NOT NULL,
  lane       text NOT NULL CHECK (lane IN ('interactive', 'bulk')),
  label      text,
  status     text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'running', 'completed', 'failed', 'cancelled')),
  total      integer NOT NULL DEFAULT 0,
  done       integer NOT NULL DEFAULT 0,
  failed     integer NOT NULL DEFAULT 0,
  cancelled  boolean NOT NULL DEFAULT false,
  error      jsonb,
  result     jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, id),
  CHECK (done + failed <= total)
) WITH (fillfactor = 80);

-- What one Celery chain carries: episodes of one tenant and one lane, of any number of jobs.
CREATE TABLE batches (
  tenant       integer NOT NULL,
  id           uuid NOT NULL,
  lane         text NOT NULL CHECK (lane IN ('interactive', 'bulk')),
  stage        text NOT NULL DEFAULT 'extract' CHECK (stage IN ('extract', 'embed', 'index')),
  state        text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'closed')),
  attempt      integer NOT NULL DEFAULT 1,  -- names the tasks of the stage; moves with every new try
  faults       smallint NOT NULL DEFAULT 0,  -- tries of this stage that died or failed for its data; outages do not count
  episodes     integer NOT NULL,
  lease        uuid,                 -- the fencing token of who works on it now
  lease_until  timestamptz,
  not_before   timestamptz NOT NULL DEFAULT now(),
  published_at timestamptz NOT NULL DEFAULT now(),
  publishes    integer NOT NULL DEFAULT 0,
  created_at   timestamptz NOT NULL DEFAULT now(),
  updated_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, id),
  CHECK ((lease IS NULL) = (lease_until IS NULL))
) WITH (fillfactor = 50);
CREATE INDEX batches_open_idx ON batches (lane, tenant) WHERE state = 'open';

-- An episode on its way. The row goes when the episode is indexed; a failed or cancelled one keeps its reason here.
CREATE TABLE queued_episodes (
  tenant     integer NOT NULL,
  episode    uuid NOT NULL,
  namespace  integer NOT NULL,
  job        uuid NOT NULL,
  lane       text NOT NULL CHECK (lane IN ('interactive', 'bulk')),
  state      text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'claimed', 'failed', 'cancelled')),
  tokens     integer NOT NULL,
  batch      uuid,
  embed_self boolean NOT NULL DEFAULT true,  -- false where an atom stands for the whole episode
  queued_at  timestamptz NOT NULL DEFAULT now(),
  error      jsonb,
  PRIMARY KEY (tenant, episode),
  FOREIGN KEY (tenant, job) REFERENCES jobs DEFERRABLE INITIALLY DEFERRED,  -- the job knows its total once all are queued
  CHECK ((state = 'claimed') = (batch IS NOT NULL))
);
CREATE INDEX queued_episodes_waiting_idx ON queued_episodes (lane, tenant, queued_at, episode) WHERE state = 'waiting';
CREATE INDEX queued_episodes_batch_idx ON queued_episodes (tenant, batch) WHERE batch IS NOT NULL;
CREATE INDEX queued_episodes_job_idx ON queued_episodes (tenant, job);
CREATE INDEX queued_episodes_pending_idx ON queued_episodes (tenant, namespace) WHERE state IN ('waiting', 'claimed');

-- The whole reply of an ingest under an Idempotency-Key: ids and codes, no content.
CREATE TABLE idempotency (
  tenant      integer NOT NULL,
  key_hmac    bytea NOT NULL,
  body_digest bytea NOT NULL,
  reply       jsonb,
  created_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, key_hmac)
);
