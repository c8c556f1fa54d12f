-- Events are kept for a while only. The floor is the last position that is gone: a cursor below it has missed something and is told so.
ALTER TABLE namespace_counters ADD COLUMN events_floor bigint NOT NULL DEFAULT 0;

-- The sweeper forgets old events of all tenants. It sees where they stand and when they happened, and not what they are about.
CREATE POLICY sweep ON events TO infinicon_sweeper USING (true);
CREATE POLICY sweep ON namespace_counters TO infinicon_sweeper USING (true);
GRANT SELECT (tenant, namespace, seq, occurred_at), DELETE ON events TO infinicon_sweeper;
GRANT SELECT (tenant, namespace, events_floor), UPDATE (events_floor) ON namespace_counters TO infinicon_sweeper;
