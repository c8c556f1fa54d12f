-- Episodes, atoms and consolidations: one lifecycle, one table. Links are the edges between them.
CREATE TABLE memories (
  tenant       integer NOT NULL,
  id           uuid NOT NULL,
  namespace    integer NOT NULL,
  type         text NOT NULL CHECK (type IN ('episode', 'atom', 'consolidation')),
  status       text NOT NULL CHECK (status IN ('active', 'disputed', 'superseded', 'tombstoned', 'pending', 'failed')),
  agent_id     text,
  session_id   text,
  filters      jsonb,
  content_type text,
  content      text,   -- text for text/*, the JSON document otherwise; NULL once it is gone
  search_text  text,   -- by what an episode is found, where that is not its content
  speaker      text,
  atom_type    text,
  title        text,
  confidence   real,
  created_by   jsonb NOT NULL,
  producer     text,   -- of derived memories: the plug-in and its version
  metadata     jsonb NOT NULL DEFAULT '{}',
  tags         text[] NOT NULL DEFAULT '{}',
  dedupe_key   text,
  dedupe_hmac  bytea,  -- of the scope and the raw dedupeKey
  content_hmac bytea,  -- of the canonical raw content; dropped with the content
  fingerprint  bytea,  -- of an atom's scope, speaker and statement; dropped with the content, so that a later source may state it anew
  occurred_at  timestamptz,
  expires_at   timestamptz,
  created_at   timestamptz NOT NULL DEFAULT now(),
  updated_at   timestamptz,
  PRIMARY KEY (tenant, id),
  FOREIGN KEY (tenant, namespace) REFERENCES namespaces
);

-- One episode for each dedupeKey in a scope, and one living atom for each statement. Both digests cover agentId and sessionId too,
-- absent or not: absent equals absent, and the lookup needs no IS NOT DISTINCT FROM, which no index serves.
CREATE UNIQUE INDEX memories_dedupe_key ON memories (tenant, namespace, dedupe_hmac) WHERE dedupe_hmac IS NOT NULL;
CREATE UNIQUE INDEX memories_fingerprint_key ON memories (tenant, namespace, fingerprint) WHERE fingerprint IS NOT NULL;

CREATE TABLE links (
  tenant     integer NOT NULL,
  id         uuid NOT NULL,
  namespace  integer NOT NULL,
  link_type  text NOT NULL CHECK (link_type IN
    ('derived_from', 'supports', 'contradicts', 'supersedes', 'mentions', 'same_as', 'corrects', 'invalidates')),
  from_id    uuid NOT NULL,
  from_type  text NOT NULL,
  to_id      uuid NOT NULL,
  to_type    text NOT NULL,
  span_start integer,
  span_end   integer,
  span_path  text,
  whole      boolean NOT NULL DEFAULT false,  -- the atom says all that the episode says
  speaker    text,                            -- who said it in this source
  occurred_at timestamptz,                    -- when, in this source
  status     text NOT NULL DEFAULT 'active',
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, id),
  CONSTRAINT links_edge_key UNIQUE (tenant, from_id, link_type, to_id)
);
CREATE INDEX links_to_idx ON links (tenant, to_id);
