-- What Celery's tasks are doing. Made here and not by Celery, in a schema of its own, under a role of its own; ids and counts only.
CREATE SCHEMA celery;
CREATE TABLE celery.task_results (
  task_id    text PRIMARY KEY,
  name       text,
  status     text NOT NULL,
  result     jsonb,
  updated_at timestamptz NOT NULL DEFAULT now(),
  done_at    timestamptz
) WITH (fillfactor = 70);
CREATE INDEX task_results_done_idx ON celery.task_results (done_at);
-- Losing the last moments of these in a crash costs nothing: the rows of the pipeline are the truth.
DO $$ BEGIN
  EXECUTE format('ALTER ROLE infinicon_results IN DATABASE %I SET synchronous_commit = off', current_database());
END $$;
GRANT USAGE ON SCHEMA celery TO infinicon_app, infinicon_sweeper, infinicon_results;
GRANT SELECT, INSERT, UPDATE, DELETE ON celery.task_results TO infinicon_results;
GRANT SELECT (task_id, status) ON celery.task_results TO infinicon_app;
GRANT SELECT (task_id, updated_at, done_at), DELETE ON celery.task_results TO infinicon_sweeper;
