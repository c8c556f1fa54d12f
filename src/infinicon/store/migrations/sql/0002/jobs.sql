-- Jobs are listed newest first: their ids are in the order of time. No index holds a counter, so that moving one stays a cheap update.
CREATE INDEX jobs_newest_idx ON jobs (tenant, namespace, id);
CREATE INDEX jobs_label_idx ON jobs (tenant, namespace, label, id) WHERE label IS NOT NULL;
CREATE INDEX jobs_status_idx ON jobs (tenant, namespace, status, id) WHERE status <> 'completed';

-- One at a time for each namespace.
CREATE UNIQUE INDEX jobs_reindex_key ON jobs (tenant, namespace) WHERE type = 'reindex' AND status IN ('queued', 'running');

-- A row without bounds is an episode on its way. One with bounds is a slice of a reindex: the namespace's memories with after < id <= upto.
-- It names itself, and no memory, so that whatever is asked of episodes passes it by.
ALTER TABLE queued_episodes
  ADD COLUMN after uuid,
  ADD COLUMN upto uuid,
  ADD CONSTRAINT queued_episodes_bounds_check CHECK ((after IS NULL) = (upto IS NULL));

-- Slices stand in line far behind every episode: readers that ask what was accepted before now must not walk past them.
DROP INDEX queued_episodes_pending_idx;
CREATE INDEX queued_episodes_pending_idx ON queued_episodes (tenant, namespace, queued_at) WHERE state IN ('waiting', 'claimed');

-- What a job has in batches, and whether somebody works on it. The windows of dispatch bound it, whatever waits behind them.
CREATE VIEW carried_jobs WITH (security_invoker = true) AS
SELECT q.tenant, q.job,
       count(*) FILTER (WHERE b.stage = 'extract') AS extract,
       count(*) FILTER (WHERE b.stage = 'embed') AS embed,
       count(*) FILTER (WHERE b.stage = 'index') AS index,
       bool_or(b.lease IS NOT NULL OR b.stage <> 'extract'
               OR coalesce(r.status IN ('STARTED', 'RETRY', 'SUCCESS'), false)) AS busy,
       max(b.updated_at) AS moved_at
FROM batches b
JOIN queued_episodes q ON q.tenant = b.tenant AND q.batch = b.id
LEFT JOIN celery.task_results r ON r.task_id = b.id || '-' || b.stage || '-' || b.attempt
WHERE b.state = 'open'
GROUP BY q.tenant, q.job;

-- Jobs as callers see them (docs/decisions/0002-job-truth.md): the row, and for one that is not over what its batches and Celery say.
-- What is neither over nor in a batch waits. `kept` is the row's own status, for the indexes above.
CREATE VIEW folded_jobs WITH (security_invoker = true) AS
SELECT j.tenant, j.id, j.namespace, j.agent_id, j.session_id, j.type, j.label, j.total, j.done, j.failed, j.error, j.result,
       j.created_at, greatest(j.updated_at, c.moved_at) AS updated_at,
       j.status AS kept,
       CASE WHEN j.status = 'queued' AND c.busy THEN 'running' ELSE j.status END AS status,
       CASE WHEN j.status IN ('queued', 'running')
            THEN j.total - j.done - j.failed - coalesce(c.extract + c.embed + c.index, 0) ELSE 0 END AS waiting,
       coalesce(c.extract, 0) AS extract, coalesce(c.embed, 0) AS embed, coalesce(c.index, 0) AS index
FROM jobs j
LEFT JOIN carried_jobs c ON c.tenant = j.tenant AND c.job = j.id;

-- What the search index is derived from: every memory that may be found, under the text by which it is. A pending one has no rows yet.
-- An episode that an atom says in full is found by that atom, and not instead of it once the atom is deleted.
CREATE VIEW indexable_memories WITH (security_invoker = true) AS
SELECT m.tenant, m.id, m.namespace, m.type, m.status, m.speaker, coalesce(m.search_text, m.content) AS text
FROM memories m
WHERE m.status NOT IN ('failed', 'tombstoned') AND (m.expires_at IS NULL OR m.expires_at > now())
  AND coalesce(m.search_text, m.content) IS NOT NULL
  AND NOT (m.type = 'episode' AND EXISTS (
        SELECT FROM links l WHERE l.tenant = m.tenant AND l.to_id = m.id AND l.link_type = 'derived_from' AND l.whole));

GRANT SELECT ON carried_jobs, folded_jobs, indexable_memories TO infinicon_app;
