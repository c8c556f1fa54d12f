-- What a query found, in order, kept for a while so that its pages neither repeat nor skip: ids and scores, no text. A crash may lose it
-- (a cursor then is not valid any more), so it costs no write-ahead log.
CREATE UNLOGGED TABLE query_pages (
  tenant       integer NOT NULL,
  id           uuid NOT NULL,
  namespace    integer NOT NULL,
  question     bytea NOT NULL,   -- HMAC of the query's text and filters: a cursor is good for these alone
  memories     uuid[] NOT NULL,
  scores       real[] NOT NULL,
  similarities real[] NOT NULL,  -- NULL for a memory without a vector
  complete     boolean NOT NULL, -- whether this is all there was
  expires_at   timestamptz NOT NULL,
  PRIMARY KEY (tenant, id),
  CHECK (cardinality(scores) = cardinality(memories) AND cardinality(similarities) = cardinality(memories))
);
CREATE INDEX query_pages_expires_idx ON query_pages (expires_at);
ALTER TABLE query_pages ENABLE ROW LEVEL SECURITY;
ALTER TABLE query_pages FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON query_pages TO infinicon_app USING (tenant = NULLIF(current_setting('infinicon.tenant', true), '')::integer);
GRANT SELECT, INSERT, UPDATE ON query_pages TO infinicon_app;
CREATE POLICY sweep ON query_pages TO infinicon_sweeper USING (true);
GRANT SELECT (tenant, id, expires_at), DELETE ON query_pages TO infinicon_sweeper;
