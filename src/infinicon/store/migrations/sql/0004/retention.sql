-- What is over in a namespace that keeps it for a time of its own, the oldest first.
CREATE INDEX jobs_over_namespace_idx ON jobs (tenant, namespace, updated_at) WHERE status IN ('completed', 'failed', 'cancelled');
