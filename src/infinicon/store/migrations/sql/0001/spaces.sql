-- Vectors of different models never compare, so every row names its model.
CREATE TABLE embedding_models (
  id         smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text NOT NULL,
  revision   text NOT NULL,
  dimension  integer NOT NULL,
  current    boolean NOT NULL DEFAULT true,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT embedding_models_identity_key UNIQUE (name, revision)
);
CREATE UNIQUE INDEX embedding_models_current_key ON embedding_models ((true)) WHERE current;

-- The shared exact space: small namespaces side by side, searched without a graph.
CREATE TABLE space_rows (
  tenant      integer NOT NULL,
  namespace   integer NOT NULL,
  model       smallint NOT NULL REFERENCES embedding_models,
  row_id      bigint GENERATED ALWAYS AS IDENTITY,
  memory      uuid NOT NULL,
  chunk       smallint NOT NULL,
  type        text NOT NULL,
  agent_key   bigint,             -- hashes of agentId and sessionId: they narrow the scan, memories decide
  session_key bigint,
  span_start  integer NOT NULL,
  span_end    integer NOT NULL,
  digest      bytea NOT NULL,     -- of the text that was embedded: identical text in a namespace is embedded once
  lexemes     integer[] NOT NULL, -- distinct, so that the postings can be removed with the row
  vector      halfvec,            -- NULL where the model has none for this text: then words alone find it
  PRIMARY KEY (tenant, row_id),
  CONSTRAINT space_rows_chunk_key UNIQUE (tenant, memory, chunk, model)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE space_rows ALTER COLUMN vector SET STORAGE PLAIN;
CREATE INDEX space_rows_digest_idx ON space_rows (tenant, namespace, model, digest);
-- A btree entry holds at most 2,704 bytes: wider vectors are read from the table.
CREATE INDEX space_rows_scan_idx ON space_rows (tenant, namespace, model) INCLUDE (agent_key, session_key, row_id, vector)
  WHERE vector_dims(vector) <= 1280;
CREATE INDEX space_rows_wide_idx ON space_rows (tenant, namespace, model) WHERE vector_dims(vector) > 1280;

-- Term frequencies for BM25. Lexemes are 32-bit hashes: integers keep every comparison leakproof, and so the index usable under RLS.
CREATE TABLE postings (
  tenant    integer NOT NULL,
  namespace integer NOT NULL,
  lexeme    integer NOT NULL,
  row_id    bigint NOT NULL,
  frequency smallint NOT NULL,
  length    smallint NOT NULL,
  CONSTRAINT postings_pkey PRIMARY KEY (tenant, namespace, lexeme, row_id) INCLUDE (frequency, length)
);

-- Vectors between the stages embed and index. They leave in the transaction that makes them visible.
CREATE TABLE staged_vectors (
  tenant     integer NOT NULL,
  batch      uuid NOT NULL,
  memory     uuid NOT NULL,
  chunk      smallint NOT NULL,
  span_start integer NOT NULL,
  span_end   integer NOT NULL,
  model      smallint NOT NULL,
  digest     bytea NOT NULL,
  vector     halfvec,
  PRIMARY KEY (tenant, batch, memory, chunk)
);
ALTER TABLE staged_vectors ALTER COLUMN vector SET STORAGE PLAIN;
